"""Laplace approximations of the package laplace-torch (Daxberger et al., 2021)."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask

# Precisions of the prior, as exponents of ten: as many as `LaplaceFA` has.
FIRST_CANDIDATE, LAST_CANDIDATE, CANDIDATES = -2, 5, 15


class TorchLaplace(DeepPosterior):
    """A Laplace approximation around a mode, with linearised predictions.

    Probabilities of classes are those of the probit approximation, unless a subclass draws
    networks.

    Parameters
    ----------
    prior : {"validation", "evidence"}
        Whether the precision of the prior predicts validation images best, or maximises the
        evidence.
    validation_images : int
        Number of validation images.

    Attributes
    ----------
    subset : {"last_layer", "all"}
        Weights that the posterior covers; a subclass defines it.
    structure : {"full", "kron", "diag"}
        Structure of the Hessian matrix; a subclass defines it.
    rows : int
        Images that are predicted at once.
    """

    needs: ClassVar[str | None] = "laplace"
    subset: ClassVar[str]
    structure: ClassVar[str]
    rows: ClassVar[int] = 250

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior": [StrOptions({"validation", "evidence"})],
        "validation_images": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        prior: Literal["validation", "evidence"] = "validation",
        validation_images: int = 500,
    ) -> None:
        self.prior = prior
        self.validation_images = validation_images

    def prepare(self) -> None:
        """Import the package, which imports torchvision."""
        from onlinefa_benchmark.torchvision_operators import declare_missing_operators

        declare_missing_operators()
        import laplace  # noqa: F401

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the posterior."""
        from laplace import Laplace

        from onlinefa_benchmark.deep.task import BATCH
        from onlinefa_benchmark.deep_posteriors._probit import make_loader

        posterior = Laplace(
            task.mode(),
            "classification",
            subset_of_weights=self.subset,
            hessian_structure=self.structure,
        )
        posterior.fit(make_loader(task.training_batches(), BATCH))
        if self.prior == "evidence":
            posterior.optimize_prior_precision("glm", method="marglik")
        else:
            self.choose_prior(posterior, task)
        return self.make_predictor(posterior, task)

    def choose_prior(self, posterior: Any, task: DeepTask) -> None:
        """Set the precision of the prior to the one that predicts validation images best."""
        from onlinefa_benchmark.deep_posteriors._probit import make_loader

        images = task.validation_batches(self.validation_images)
        posterior.optimize_prior_precision(
            "glm",
            method="gridsearch",
            link_approx="probit",
            val_loader=make_loader(images, self.rows),
            log_prior_prec_min=FIRST_CANDIDATE,
            log_prior_prec_max=LAST_CANDIDATE,
            grid_size=CANDIDATES,
        )

    def make_predictor(self, posterior: Any, task: DeepTask) -> Predictor:
        """Return the predictions of a posterior."""
        from onlinefa_benchmark.deep.task import count_bytes
        from onlinefa_benchmark.deep_posteriors._probit import ProbitPrediction

        return ProbitPrediction(posterior, self.rows, count_bytes(task.mode(), 1))
