"""Tests of posteriors of networks that several processes train."""

from __future__ import annotations

import pytest
import torch
from support import two_processes
from support.posteriors import assert_equal, learn
from torch import nn


@pytest.mark.slow
def test_all_ranks_have_the_posterior_of_rank_0_after_a_broadcast(tmp_path):
    torch.multiprocessing.spawn(two_processes.train, args=(str(tmp_path),), nprocs=2)
    ranks = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    assert [each["updates"] for each in ranks] == [two_processes.STEPS, 0]
    assert torch.equal(ranks[0]["walk"], ranks[1]["walk"])  # both have the same weights
    posteriors = []
    for each in ranks:
        posteriors.append(two_processes.make_posterior())
        posteriors[-1].load_state_dict(each["state"])
    assert_equal(*posteriors)
    assert torch.equal(ranks[0]["drawn"], ranks[1]["drawn"])
    # It is the posterior of a network in a single process with the same weights.
    alone = learn(nn.Linear(3, 2), posteriors[0].estimator, ranks[0]["walk"])
    assert_equal(posteriors[0], alone)
    drawn = alone.predict(torch.ones(1, 3), 5, random_state=0)
    assert torch.equal(drawn, ranks[1]["drawn"])
