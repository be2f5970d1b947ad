"""The four files in which MNIST and datasets in its format are published."""

from onlinefa_benchmark.datasets._packages import Package
from onlinefa_benchmark.datasets.base import Edition, Part
from onlinefa_benchmark.datasets.images._formats import read_idx_files
from onlinefa_benchmark.datasets.images.base import Rows

_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def mnist_edition(
    address: str, checksums: tuple[str, ...], package: Package, folder: str, suffix: str
) -> Edition[Rows]:
    """Return the edition of a dataset in the format of MNIST.

    Parameters
    ----------
    address : str
        Address of the folder of the files.
    checksums : tuple of str
        MD5 digests of the files: of the training images and labels, then of the test ones.
    package : Package
        A package that contains the files.
    folder : str
        Their folder inside the package.
    suffix : str
        Suffix of their names inside the package: ``.gz`` or nothing.
    """
    parts = (
        Part(name, address + name, f"md5:{md5}", f"{folder}/{name.removesuffix('.gz')}{suffix}")
        for name, md5 in zip(_NAMES, checksums, strict=True)
    )
    return Edition(tuple(parts), read_idx_files, package)
