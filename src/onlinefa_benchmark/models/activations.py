"""Names of activation functions, for configurations, which are read without PyTorch."""

from typing import Literal

Activation = Literal["erf", "relu"]
