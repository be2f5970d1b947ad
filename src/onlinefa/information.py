"""Sums of outer products of rows, such as the information of data, as low rank plus diagonal."""

from __future__ import annotations

from onlinefa._arrays import AnyArray, array_namespace

__all__ = ["InformationSketch"]


class InformationSketch:
    """The sum of g g' over all rows g so far, approximated by FF' + diag(d) in O(DK) memory.

    With gradients of observations as rows, the sum is the Fisher information, or Gauss-Newton
    matrix, of a network. F has the K leading principal components of the rows (not centred), which
    are updated block by block. The diagonal d is what they leave out: the diagonal of FF' + diag(d)
    is exact.

    The blocks enter through products of rows only: a block of n rows takes O(D (K + n)^2). Arrays
    may be those of NumPy or tensors of PyTorch.

    Parameters
    ----------
    n_components : int
        Number of components K.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa.information import InformationSketch
    >>> rows = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> sketch = InformationSketch(n_components=1)
    >>> sketch.absorb(rows)
    >>> np.abs(sketch.factors.T), sketch.diagonal
    (array([[3., 0., 0.]]), array([0., 4., 1.]))
    """

    def __init__(self, n_components: int) -> None:
        if n_components < 1:
            raise ValueError(f"n_components={n_components} must be at least 1")
        self.n_components = n_components
        self.count = 0
        self._components: AnyArray = None  # of shape (K, D), orthogonal rows
        self._squares: AnyArray = None

    def absorb(self, rows: AnyArray) -> None:
        """Add the outer products of rows, of shape (n, D)."""
        xp = array_namespace(rows)
        squares = xp.sum(rows**2, axis=0)
        if self._components is None:
            self._components, self._squares = rows[:0], squares
        else:
            self._squares = self._squares + squares
        stacked = xp.concat([self._components, rows], axis=0)
        # The components are combinations of the rows, which an eigendecomposition of the products
        # of rows gives; a singular value decomposition would take ten times as long.
        products = xp.astype(stacked @ stacked.T, xp.float64)
        _, vectors = xp.linalg.eigh(products)
        kept = min(self.n_components, len(stacked))
        leading = xp.astype(vectors[:, -kept:], rows.dtype)
        self._components = leading.T @ stacked
        self.count += len(rows)

    @property
    def factors(self) -> AnyArray:
        """The factors F, of shape (D, K), or with fewer columns if there were fewer rows."""
        return self._components.T

    @property
    def diagonal(self) -> AnyArray:
        """The diagonal d, of shape (D,)."""
        xp = array_namespace(self._squares)
        return xp.clip(self._squares - xp.sum(self._components**2, axis=0), 0, None)
