"""Messages about unknown names and missing packages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: the nearest allowed one, and all."""
    allowed = sorted(allowed)
    close = difflib.get_close_matches(word, allowed, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (allowed: {', '.join(allowed) or 'none'})"


def needs_extra(package: str, extra: str) -> str:
    """Return the end of a message about a package that an extra of the distribution installs."""
    return f"needs {package}, which is not installed: pip install 'onlinefa[{extra}]'"
