"""Labels, colours and markers of algorithms, shared by every figure, table and page.

The colours are those of Okabe and Ito and of Tol, which readers with colour vision deficiencies can
tell apart; markers differ as well. An algorithm without an entry gets a spare combination that
depends only on its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True)
class Look:
    """The label, colour, marker and line style of an algorithm."""

    label: str
    colour: str
    marker: str
    line: str = "-"


_LOOKS = {
    # The thesis draws these three in blue, orange and green.
    "batch_svd": Look("batch SVD", "#0072B2", "o"),
    "online_em": Look("online EM", "#E69F00", "s"),
    "online_sga": Look("online SGA", "#009E73", "^"),
    "batch_ml": Look("maximum likelihood", "#000000", "D"),
    "diagonal": Look("diagonal control", "#7F7F7F", "X", "--"),
    "recursive_em": Look("recursive EM", "#D55E00", "P"),
    "recursive_em_auto": Look("recursive EM, K chosen", "#332288", "h"),
    "recursive_em_forgetting": Look("recursive EM, forgetting", "#332288", ">"),
    "shrunk_em": Look("shrunk EM", "#56B4E9", "*"),
    "lrvga": Look("L-RVGA", "#661100", ">"),
    "stepwise_em": Look("stepwise EM", "#882255", "X"),
    "preconditioned_sga": Look("preconditioned SGA", "#44AA99", "<"),
    "incremental_pca": Look("incremental PCA", "#999933", "p"),
    "swag": Look("SWAG", "#CC79A7", "v"),
    "swag_diagonal": Look("SWAG-diagonal", "#7F7F7F", "x", "--"),
    "map": Look("MAP", "#AA4499", ">"),
    "ensemble": Look("deep ensemble", "#117733", "d"),
    "laplace": Look("Laplace, last layer", "#DDCC77", "H"),
    "laplace_all": Look("Laplace, all weights", "#661100", "8"),
    "multi_laplace_all": Look("multi-Laplace, all weights", "#661100", "P"),
    "laplace_fa": Look("Laplace, low rank", "#0072B2", "P"),
    "laplace_fa_30": Look("Laplace, low rank, K = 30", "#3399DD", "v"),
    "laplace_fa_recursive": Look("Laplace, recursive EM", "#D55E00", "*"),
    "laplace_fa_recursive_30": Look("Laplace, recursive EM, K = 30", "#8A3A00", "*"),
    "laplace_fa_observed": Look("Laplace, low rank, empirical Fisher", "#0072B2", "*", "--"),
    "multi_laplace_fa": Look("multi-Laplace, low rank", "#003E66", "P"),
    "multi_laplace_fa_30": Look("multi-Laplace, low rank, K = 30", "#003E66", "d"),
    "laplace_draws": Look("factor analysis of Laplace draws", "#7F7F7F", "P", "--"),
    "underdamped": Look("underdamped Langevin", "#009E73", "d"),
    "underdamped_long": Look("underdamped Langevin, ten times the budget", "#006B4E", "P"),
    "underdamped_fa": Look("shrunk EM of underdamped Langevin", "#66C2A5", "P"),
    "laplace_diagonal": Look("Laplace, diagonal", "#6699CC", "8"),
    "swa": Look("SWA", "#999933", "<"),
    "multiswag": Look("MultiSWAG", "#AA0055", "v"),
    "multi_online_em": Look("multi-FA, online EM", "#B87A00", "s"),
    "multi_fa": Look("multi-FA, recursive EM", "#8A3A00", "P"),
    "laplace_low_rank": Look("Laplace, leading eigenvectors", "#117733", "<"),
    "laplace_kron": Look("Laplace, Kronecker factors", "#999933", "H"),
    "mc_dropout": Look("MC dropout", "#44AA99", "o"),
    "ivon": Look("IVON", "#332288", "s"),
    "sghmc": Look("SGHMC", "#661100", "v"),
    "cyclical": Look("cyclical SGHMC", "#661100", "^"),
    "mean_field": Look("mean field", "#332288", "x"),
    "vifa": Look("VIFA", "#44AA99", "*"),
    "nuts": Look("NUTS", "#000000", "h", ":"),
    "gaussian_process": Look("Gaussian process", "#000000", "*", ":"),
    "nystrom": Look("Nystrom", "#0072B2", "d"),
    "random_features": Look("random units", "#E69F00", "v"),
    "fourier_features": Look("random Fourier features", "#009E73", "p"),
}
_SPARE = [
    (colour, marker)
    for marker in "dH8v^s"
    for colour in ("#AA4499", "#DDCC77", "#661100", "#117733", "#6699CC")
    if not any((colour, marker) == (taken.colour, taken.marker) for taken in _LOOKS.values())
]


def look(algorithm: str) -> Look:
    """Return the look of an algorithm; it is the same for deep networks."""
    algorithm = algorithm.removeprefix("deep_")
    if algorithm in _LOOKS:
        return _LOOKS[algorithm]
    colour, marker = _SPARE[crc32(algorithm.encode()) % len(_SPARE)]
    return Look(algorithm.replace("_", " "), colour, marker)


def sort_key(algorithm: str) -> tuple[int, str]:
    """Return a key that sorts algorithms with an entry first, in their order, then by name."""
    listed, algorithm = list(_LOOKS), algorithm.removeprefix("deep_")
    return (listed.index(algorithm) if algorithm in listed else len(listed), algorithm)


def sort_algorithms(algorithms: list[str]) -> list[str]:
    """Sort algorithms in the order in which readers see them."""
    return sorted(algorithms, key=sort_key)
