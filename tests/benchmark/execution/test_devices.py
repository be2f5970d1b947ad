"""Tests of the configured device and of the device that a fit uses."""

from __future__ import annotations

import pytest
import torch

from onlinefa_benchmark.execution import devices
from onlinefa_benchmark.execution.devices import NoDevice, resolve


def test_a_missing_gpu_is_an_error_or_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with pytest.raises(NoDevice, match=r"device: cuda, but PyTorch .* finds no GPU .*DEVICES=3"):
        resolve("cuda")
    assert resolve("auto") == "cpu"
    assert "device: auto uses the CPU" in caplog.text
    assert resolve("cpu") == devices.describe("cpu") == "cpu"


def test_a_gpu_that_is_available_is_used_and_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert resolve("cuda") == resolve("auto") == "cuda"
    assert devices.describe("cuda") == "NVIDIA A100 (CUDA_VISIBLE_DEVICES=1)"
