"""A hook of mkdocs for links to files outside of docs/.

Such links work where the repository is browsed, but the site does not have these files. On the
site the text of the link is kept, without the link. A link to a file that does not exist is a
warning, with which ``mkdocs build --strict`` fails.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.repository_links")

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replace links to files outside of docs/ by their text."""
    docs = Path(config["docs_dir"])
    folder = Path(page.file.abs_src_path).parent

    def replace(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[2]))
        if target.is_relative_to(docs):
            return match[0]
        if not target.exists():
            log.warning("%s links to %s, which does not exist", page.file.src_path, match[2])
        return match[1]

    return _LINK.sub(replace, markdown)
