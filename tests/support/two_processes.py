"""A training with two processes, which a new interpreter can import."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import distributed, nn

from onlinefa import RecursiveEM
from onlinefa.torch import WeightPosterior

STEPS = 12


def make_posterior(model=None):
    """Return a posterior of a small network."""
    torch.manual_seed(0)
    model = model or nn.Linear(3, 2)
    return WeightPosterior(model, RecursiveEM(n_components=2, warm_up=5, block_size=3))


def train(rank: int, folder: str) -> None:
    """Train with two processes, and write the posterior of each and what it predicts."""
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2
    )
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    posterior = make_posterior(model)
    random = torch.Generator().manual_seed(rank)  # each process has batches of its own
    walk = []
    for _ in range(STEPS):
        inputs = torch.randn(8, 3, generator=random)
        optimiser.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs[:, :2]).backward()
        optimiser.step()
        walk.append(nn.utils.parameters_to_vector(model.parameters()).detach().clone())
        if rank == 0:
            posterior.update()
    updates = posterior.updates
    states = [posterior.state_dict()]
    distributed.broadcast_object_list(states, src=0)
    posterior.load_state_dict(states[0])
    result = {
        "updates": updates,
        "walk": torch.stack(walk),
        "state": posterior.state_dict(),
        "drawn": posterior.predict(torch.ones(1, 3), 5, random_state=0),
    }
    torch.save(result, Path(folder) / f"{rank}.pt")
    distributed.destroy_process_group()
