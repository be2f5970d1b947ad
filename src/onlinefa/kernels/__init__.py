"""Compiled inner loops, which process one row at a time.

Estimators import these modules when they first need them, because numba takes half a second to
import. numba caches compiled code beside these files, and compiles a function again when its own
file has changed. It does not notice changes in functions that are linked in from another file. This
package therefore deletes cached code that is older than any of its source files.
"""

from pathlib import Path

from onlinefa.kernels.announcement import announce_compilations


def discard_stale(folder: Path) -> None:
    """Delete the index files of numba's cache that are older than some source file of the folder.

    Parameters
    ----------
    folder : pathlib.Path
        Folder of source files, with numba's cache in its ``__pycache__``.
    """
    edited = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime_ns < edited:
                index.unlink()
        except OSError:
            pass  # another process has deleted it, or the folder is read-only and never edited


discard_stale(Path(__file__).parent)
announce_compilations()
