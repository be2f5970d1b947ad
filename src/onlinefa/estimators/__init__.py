"""Estimators: algorithms that fit a factor Gaussian to rows, one in each module."""

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

__all__ = [
    "LRVGA",
    "SWAG",
    "BatchML",
    "BatchSVD",
    "Diagonal",
    "FactorEstimator",
    "FitDiverged",
    "IncrementalPCA",
    "OnlineEM",
    "OnlineSGA",
    "PreconditionedSGA",
    "RecursiveEM",
    "SWAGDiagonal",
    "ShrunkEM",
    "StepwiseEM",
]
