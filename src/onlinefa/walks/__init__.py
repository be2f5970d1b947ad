"""Walks: sequences of weights along stochastic gradients, which online estimators are fitted to."""

from onlinefa.walks.adaptive import AdaptiveLangevin
from onlinefa.walks.base import Walk
from onlinefa.walks.curvature import estimate_curvature
from onlinefa.walks.cyclical import CyclicalLangevin
from onlinefa.walks.descent import Descent, descend
from onlinefa.walks.errors import WalkDiverged
from onlinefa.walks.gradient_moment import GradientMoment
from onlinefa.walks.langevin import SGD, Langevin
from onlinefa.walks.preconditioner import Preconditioner
from onlinefa.walks.targets import LeastSquares, Target
from onlinefa.walks.underdamped import Underdamped

__all__ = [
    "SGD",
    "AdaptiveLangevin",
    "CyclicalLangevin",
    "Descent",
    "GradientMoment",
    "Langevin",
    "LeastSquares",
    "Preconditioner",
    "Target",
    "Underdamped",
    "Walk",
    "WalkDiverged",
    "descend",
    "estimate_curvature",
]
