"""Compiled inner loops, one observation at a time. Imported late: numba takes half a second.

numba keeps compiled code beside these files and compiles a function again when its own file has
changed. What it has linked in from another file it does not watch, so this package does: when any
of its files is newer than a compiled one, the compiled one goes.
"""

from pathlib import Path


def discard_stale(folder: Path) -> None:
    """Delete numba's indices that are older than some source file of the folder."""
    edited = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime_ns < edited:
                index.unlink()
        except OSError:
            pass  # another process was quicker, or the folder is read-only and nobody edits it


discard_stale(Path(__file__).parent)
