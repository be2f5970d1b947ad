"""Import torchvision, which laplace-torch and Lightning import, with any build of PyTorch."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, suppress

from conformance.torchvision_operators import declare_missing_operators


def import_torchvision():
    """Import torchvision, if it is installed."""
    with suppress(ModuleNotFoundError):
        declare_missing_operators()


@contextmanager
def ignore_warnings():
    """Ignore warnings, for example those of Lightning.

    pytest-xdist imports the module of a warning in its main process, where Lightning cannot be
    imported if torchvision cannot.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
