"""Training with IVON (Shen et al., 2024), the optimiser of the package ivon-opt."""

from __future__ import annotations

from typing import Any

from torch import nn

from onlinefa_benchmark.deep.recipes import Descent, Loss, Schedule, follow_cosine

__all__ = ["IVONDescent"]


class IVONDescent(Descent):
    """Training of a diagonal Gaussian instead of a mode.

    Parameters
    ----------
    schedule, images
        As in `Recipe`.
    learning_rate : float
        First learning rate.
    hess_init : float
        Initial value of the diagonal of the Hessian matrix.
    """

    optimiser: Any

    def __init__(
        self, schedule: Schedule, images: int, learning_rate: float, hess_init: float
    ) -> None:
        super().__init__(schedule, images)
        self.learning_rate = learning_rate
        self.hess_init = hess_init

    def begin(self, network: nn.Module) -> None:
        """Create the optimiser of a network."""
        import ivon  # type: ignore[import-untyped]

        self.optimiser = ivon.IVON(
            [each for each in network.parameters() if each.requires_grad],
            lr=self.learning_rate,
            ess=self.images,
            hess_init=self.hess_init,
            weight_decay=self.schedule.weight_decay,
        )

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return follow_cosine(self.learning_rate, step / self.descent_steps)

    def take_step(self, step: int, loss: Loss) -> None:
        """Take a step with a network that is drawn from the Gaussian."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate(step)
        with self.optimiser.sampled_params(train=True):
            self.optimiser.zero_grad()
            loss()
        self.optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser, with its number of steps, which it does not save."""
        return {**super().state_dict(), "steps": self.optimiser.current_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        super().load_state_dict(state)
        self.optimiser.current_step = state["steps"]
