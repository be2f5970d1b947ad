"""Tests that block EM uses one thread, whichever library the rows belong to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from onlinefa import RecursiveEM, ShrunkEM
from onlinefa.estimators._block_em import RecursiveModel


@pytest.mark.parametrize("estimator", [RecursiveEM, ShrunkEM])
@pytest.mark.parametrize("convert", [np.asarray, torch.tensor], ids=["arrays", "tensors"])
def test_blocks_are_learned_with_one_thread(estimator, convert, monkeypatch):
    seen = set()
    absorb = RecursiveModel.absorb

    def watch(self, block):
        blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
        seen.update(each["num_threads"] for each in blas)
        seen.add(torch.get_num_threads())
        absorb(self, block)

    monkeypatch.setattr(RecursiveModel, "absorb", watch)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        rows = convert(np.random.default_rng(0).normal(size=(250, 6)))
        estimator(2).fit(rows).gaussian()  # two whole blocks, and a part of the third
        assert seen == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
