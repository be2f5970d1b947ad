"""Arrays of NumPy and tensors of PyTorch, by the array API standard.

Code that is written against the standard runs on arrays of either library, and on the device of a
tensor. Operations that the standard does not have are here. PyTorch is not imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import array_api_compat
import numpy as np
from array_api_compat import is_torch_array
from threadpoolctl import ThreadpoolController

__all__ = [
    "NUMPY",
    "AnyArray",
    "ArrayKind",
    "array_namespace",
    "decompose",
    "draw_normals",
    "invert",
    "invert_root",
    "is_finite",
    "is_torch_array",
    "iterate_tiles",
    "make_root",
    "to_numpy",
    "use_one_thread",
]

AnyArray = Any
"""An array of NumPy or a tensor of PyTorch."""


def array_namespace(array: AnyArray) -> Any:
    """Return the namespace of an array: that of NumPy is NumPy itself, without any wrapper."""
    return np if isinstance(array, np.ndarray) else array_api_compat.array_namespace(array)


@dataclass(frozen=True)
class ArrayKind:
    """Library, data type and device of the arrays of a fit.

    Parameters
    ----------
    library : {"numpy", "torch"}
        Library of the arrays.
    dtype : data type
        Data type of the rows.
    device : object
        Device of the rows.
    """

    library: Literal["numpy", "torch"]
    dtype: Any
    device: Any

    @classmethod
    def of(cls, array: Any) -> ArrayKind:
        """Return the kind of an array."""
        return cls("torch" if is_torch_array(array) else "numpy", array.dtype, array.device)

    @property
    def is_torch(self) -> bool:
        """Whether the arrays are tensors of PyTorch."""
        return self.library == "torch"

    @property
    def namespace(self) -> Any:
        """Namespace of the array API."""
        return import_module("array_api_compat.torch") if self.is_torch else np

    @property
    def dtype_name(self) -> str:
        """Name of the data type, such as float32."""
        return str(self.dtype).rsplit(".", maxsplit=1)[-1]

    def with_dtype(self, name: str) -> ArrayKind:
        """Return the same kind with a data type of this name."""
        dtype = getattr(self.namespace, name)
        return ArrayKind(self.library, dtype if self.is_torch else np.dtype(dtype), self.device)

    def make(self, array: Any) -> Any:
        """Convert an array of NumPy, without changing its data type."""
        if not self.is_torch:
            return array
        return self.namespace.asarray(np.array(array, order="K"), device=self.device)

    def zeros(self, *shape: int, double: bool = False) -> Any:
        """Return an array of zeros, of the type of the rows or of float64."""
        dtype = self.namespace.float64 if double else self.dtype
        return self.namespace.zeros(shape, dtype=dtype, device=self.device)


NUMPY = ArrayKind.of(np.empty(0))
"""Arrays of NumPy in float64."""


def to_numpy(array: Any) -> Any:
    """Convert an array or a tensor on any device to an array of NumPy."""
    return array.detach().cpu().numpy() if is_torch_array(array) else np.asarray(array)


def iterate_tiles(columns: Any, size: int = 2048) -> Iterator[slice]:
    """Iterate over columns, the last axis of an array, in tiles that fit into the cache of a CPU.

    Arrays of the size of a tile are created and combined in the cache, several times as fast as in
    main memory. On other devices, all columns are one tile.

    Parameters
    ----------
    columns : array
        Array whose last axis has the columns.
    size : int, default=2048
        Number of columns of a tile. In float32, 100 rows of the default size and ten factors fit
        into a cache of 1 MiB.
    """
    D = columns.shape[-1]
    if is_torch_array(columns) and columns.device.type != "cpu":
        size = max(D, 1)
    return (slice(start, min(start + size, D)) for start in range(0, D, size))


def is_finite(array: Any) -> bool:
    """Return whether all entries are finite.

    The sum is not finite if an entry is not, and takes no memory. As it may overflow, entries are
    checked one by one only then.
    """
    xp = array_namespace(array)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(xp.isfinite(xp.sum(array))) or bool(xp.all(xp.isfinite(array)))


@cache
def _find_thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Limit the linear algebra of NumPy and PyTorch to one thread of the CPU.

    The products of a block are too small for several threads. On a machine that is busy, waiting
    for the slowest thread makes them up to 30 times slower.
    """
    torch = sys.modules.get("torch")  # not imported by users of NumPy
    before = torch.get_num_threads() if torch else 1
    with _find_thread_pools().limit(limits=1, user_api="blas"):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            if torch:
                torch.set_num_threads(before)


def make_root(matrix: Any) -> Any:
    """Compute the Cholesky factors of positive definite matrices.

    For a matrix that is not positive definite, NumPy raises an exception. PyTorch would have to
    wait for the device to do so: the factor of such a matrix is NaN.
    """
    xp = array_namespace(matrix)
    if not is_torch_array(matrix):
        return xp.linalg.cholesky(matrix)
    root, failed = xp.linalg.cholesky_ex(matrix)
    return xp.where((failed == 0)[..., None, None], root, xp.nan)


def decompose(function: Callable[[Any], tuple[Any, ...]], matrix: Any) -> tuple[Any, ...]:
    """Decompose matrices; all parts of a matrix that is not finite are NaN.

    NumPy and PyTorch raise exceptions for such a matrix, even if it is one of several.

    Parameters
    ----------
    function : callable
        Function that returns the parts, such as ``xp.linalg.eigh``.
    matrix : array of shape (..., m, n)
        The matrices.
    """
    if is_finite(matrix):
        return tuple(function(matrix))
    xp = array_namespace(matrix)
    finite = xp.all(xp.isfinite(matrix), axis=(-2, -1))
    parts = function(xp.where(finite[..., None, None], matrix, 0.0))

    def mark(part: Any) -> Any:
        axes = (None,) * (part.ndim - finite.ndim)
        return xp.where(finite[(..., *axes)], part, xp.nan)

    return tuple(mark(part) for part in parts)


def invert(matrix: Any) -> Any:
    """Invert positive definite matrices, which may be NaN."""
    xp = array_namespace(matrix)
    if not is_torch_array(matrix):
        return xp.linalg.inv(matrix)
    return xp.cholesky_inverse(make_root(matrix))


def invert_root(root: Any) -> Any:
    """Invert lower triangular matrices, which may be NaN."""
    xp = array_namespace(root)
    if not is_torch_array(root):
        return xp.linalg.inv(root)
    eye = xp.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    return xp.linalg.solve_triangular(root, eye, upper=False)


def draw_normals(like: Any, shape: tuple[int, ...], random_state: Any) -> Any:
    """Draw standard normal numbers of the library, type and device of an array.

    Parameters
    ----------
    like : array
        Array of NumPy, or a tensor.
    shape : tuple of int
        Shape of the result.
    random_state : int, numpy.random.Generator, torch.Generator or None
        Seed, or the generator to draw from. For tensors, a generator of NumPy draws a seed.
    """
    if not is_torch_array(like):
        return np.random.default_rng(random_state).standard_normal(shape)
    xp = array_namespace(like)
    generator = random_state
    if random_state is None or isinstance(random_state, int | np.integer | np.random.Generator):
        seed = int(np.random.default_rng(random_state).integers(2**63 - 1))
        generator = xp.Generator(device=like.device).manual_seed(seed)
    return xp.randn(shape, generator=generator, dtype=like.dtype, device=like.device)
