"""The workspace of a job: files with the state of training runs that its cells share."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Any

from onlinefa_benchmark.atomic_file import atomic

log = logging.getLogger(__name__)

_SECONDS_TO_KEEP = 30 * 24 * 3600


class FolderWorkspace:
    """A folder of files that `torch.save` has written.

    Parameters
    ----------
    folder : Path
        The folder. Its name is the digest of the job, so that it contains no state that other code
        or another configuration has saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def discard_abandoned(self) -> None:
        """Delete folders of other jobs that were not used for a month."""
        for folder in self.folder.parent.glob("*"):
            if folder != self.folder and time() - folder.stat().st_mtime > _SECONDS_TO_KEEP:
                log.warning("%s is deleted: it was not used for a month", folder)
                shutil.rmtree(folder, ignore_errors=True)

    def load(self, name: str) -> dict[str, Any] | None:
        """Return a saved state; None if there is none, or if its file is damaged."""
        path = self._path(name)
        if not path.exists():
            return None
        import torch

        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # PyTorch may raise anything on damaged bytes
            log.warning("%s is discarded: %s", path, (str(error).splitlines() or [""])[0])
            path.unlink(missing_ok=True)
            return None
        log.info("continuing from %s", path.name)
        return state

    def save(self, name: str, state: Mapping[str, Any]) -> None:
        """Save a state: tensors, numbers, strings, lists and dicts."""
        import torch

        with atomic(self._path(name)) as temporary:
            torch.save(dict(state), temporary)

    def delete(self) -> None:
        """Delete all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.pt"
