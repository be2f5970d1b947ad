"""Online factor analysis: estimators of Gaussians with a low-rank plus diagonal covariance.

All estimators follow the conventions of scikit-learn and learn from rows one at a time, in blocks
or all at once. `onlinefa.torch` attaches an estimator to the training loop of a PyTorch network.
"""

from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.estimators.batch_ml import BatchML
from onlinefa.estimators.batch_svd import BatchSVD
from onlinefa.estimators.diagonal import Diagonal
from onlinefa.estimators.incremental_pca import IncrementalPCA
from onlinefa.estimators.lrvga import LRVGA
from onlinefa.estimators.online_em import OnlineEM
from onlinefa.estimators.online_sga import OnlineSGA
from onlinefa.estimators.preconditioned_sga import PreconditionedSGA
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.estimators.shrunk_em import ShrunkEM
from onlinefa.estimators.stepwise_em import StepwiseEM
from onlinefa.estimators.swag import SWAG
from onlinefa.estimators.swag_diagonal import SWAGDiagonal
from onlinefa.gaussian import LowRankGaussian, NoDensity, NotFinite
from onlinefa.precision import PrecisionGaussian
from onlinefa.serialization import CannotRestore

__all__ = [
    "LRVGA",
    "SWAG",
    "BatchML",
    "BatchSVD",
    "CannotRestore",
    "Diagonal",
    "FactorEstimator",
    "FitDiverged",
    "IncrementalPCA",
    "LowRankGaussian",
    "NoDensity",
    "NotFinite",
    "OnlineEM",
    "OnlineSGA",
    "PrecisionGaussian",
    "PreconditionedSGA",
    "RecursiveEM",
    "SWAGDiagonal",
    "ShrunkEM",
    "StepwiseEM",
    "__version__",
]

__version__ = "0.2.0"
