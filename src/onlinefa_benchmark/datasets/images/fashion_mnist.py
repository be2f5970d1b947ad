"""Fashion-MNIST: 70,000 pictures of clothes of 28 x 28 pixels."""

from onlinefa_benchmark.datasets._packages import DebianPackage
from onlinefa_benchmark.datasets.images._mnist_files import mnist_edition
from onlinefa_benchmark.datasets.images.base import ImageSet

IMAGES = ImageSet(
    title="Fashion-MNIST",
    shape=(1, 28, 28),
    classes=(
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
    training=60_000,
    test=10_000,
    digest="25001a14c2eb79cea0d12b97921bb17f9b142dbccd1b89d382b446f52061aa8b",
    editions=(
        mnist_edition(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            checksums=(
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
                "bef4ecab320f06d8554ea6380940ec79",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
            package=DebianPackage(
                "dataset-fashion-mnist",
                "0.0~git20200523.55506a9-1",
                "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
            ),
            folder="usr/share/datasets/fashion-mnist",
            suffix=".gz",
        ),
    ),
)
