"""Code without warnings."""

from __future__ import annotations

import warnings
from contextlib import contextmanager


@contextmanager
def ignore_warnings():
    """Ignore warnings, for example those of Lightning.

    pytest-xdist imports the module of a warning in its main process, where Lightning cannot be
    imported if torchvision cannot.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
