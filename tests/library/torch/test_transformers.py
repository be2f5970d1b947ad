"""Tests of the callback of Hugging Face's Trainer, with the Trainer itself."""

from __future__ import annotations

import os
import shutil
import socket

import pytest
import torch
from support.posteriors import assert_equal, learn
from torch import nn

from onlinefa import Diagonal, RecursiveEM
from onlinefa.serialization import CannotRestore
from onlinefa.torch import NotFitted, WeightPosterior
from onlinefa_benchmark.torchvision_operators import declare_missing_operators

declare_missing_operators()
pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")

from support.tiny_transformers import make_model, make_texts  # noqa: E402

from onlinefa.torch.transformers import PosteriorCallback  # noqa: E402

BATCHES, EPOCHS = 6, 4
ESTIMATOR = RecursiveEM(n_components=2, warm_up=5, block_size=3)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: a forked process cannot use the threads of its parent."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Recorder(transformers.TrainerCallback):
    """Record the weights after each step of the optimiser."""

    def __init__(self):
        self.walk = []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.walk.append(nn.utils.parameters_to_vector(model.parameters()).detach().clone())


class Trainer(transformers.Trainer):
    """A trainer that may have infinite gradients at some step."""

    infinite = None

    def compute_loss(self, *args, **options):
        loss = super().compute_loss(*args, **options)
        return loss * float("inf") if self.state.global_step == self.infinite else loss


def make_trainer(folder, *callbacks, **options):
    arguments = {
        "output_dir": str(folder),
        "num_train_epochs": EPOCHS,
        "per_device_train_batch_size": 4,
        "learning_rate": 0.01,
        "lr_scheduler_type": "constant",
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    return Trainer(
        model=make_model(),
        args=transformers.TrainingArguments(**(arguments | options)),
        train_dataset=make_texts(4 * BATCHES),
        callbacks=list(callbacks),
    )


def train(folder, *callbacks, checkpoint=None, **options):
    recorder = Recorder()
    make_trainer(folder, *callbacks, recorder, **options).train(resume_from_checkpoint=checkpoint)
    return recorder.walk


def callback(estimator=ESTIMATOR, start=0, every=1, **options):
    return PosteriorCallback(estimator, start, every, **options)


@pytest.mark.parametrize(
    ("start", "every", "chosen"),
    [
        (2, 1, range(12, 24)),
        (0.6, 1, range(14, 24)),  # the first 14.4 steps are left out
        (1, 5, [10, 15, 20]),
        (1, "epoch", [11, 17, 23]),
        (0.6, "epoch", [17, 23]),
    ],
)
def test_the_posterior_learns_from_the_weights_of_the_schedule(tmp_path, start, every, chosen):
    learned = callback(Diagonal(), start, every)
    walk = train(tmp_path, learned)
    assert len(walk) == BATCHES * EPOCHS
    expected = learn(make_model(), Diagonal(), [walk[step] for step in chosen])
    assert_equal(learned.posterior, expected)


def test_accumulated_gradients_are_one_step(tmp_path):
    learned = callback()
    walk = train(tmp_path, learned, gradient_accumulation_steps=3)
    assert learned.posterior.updates == len(walk) == BATCHES * EPOCHS / 3
    expected = learn(make_model(), ESTIMATOR, walk)
    assert_equal(learned.posterior, expected)
    inputs = {"input_ids": make_texts(2)[0]["input_ids"][None]}
    expected.model.eval()
    one, two = (each.predict(inputs, 3, random_state=0) for each in (learned.posterior, expected))
    assert torch.equal(one, two)


# A fused optimiser skips the step itself; other ones are not called.
@pytest.mark.parametrize("optim", ["adamw_torch", "adamw_torch_fused"])
@pytest.mark.parametrize("infinite", [0, 7])
def test_skipped_steps_of_mixed_precision_do_not_count(tmp_path, optim, infinite):
    learned, recorder = callback(), Recorder()
    trainer = make_trainer(tmp_path, learned, recorder, max_grad_norm=0.0, optim=optim)
    initial = nn.utils.parameters_to_vector(trainer.model.parameters()).detach().clone()
    trainer.infinite = infinite
    trainer.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    trainer.train()
    walk = [initial, *recorder.walk]
    assert torch.equal(walk[infinite], walk[infinite + 1])
    assert trainer.state.global_step == 24  # the Trainer counts the skipped step
    taken = recorder.walk[:infinite] + recorder.walk[infinite + 1 :]
    assert_equal(learned.posterior, learn(make_model(), ESTIMATOR, taken))


# -- checkpoints -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 4, "epoch"])
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, every):
    whole = callback(Diagonal(), 1, every)
    train(tmp_path, whole, save_strategy="steps", save_steps=1)
    for step in (3, 12, 15, 24):  # before `start`, after an epoch, within one, and at the end
        resumed = callback(Diagonal(), 1, every)
        walk = train(tmp_path, resumed, checkpoint=str(tmp_path / f"checkpoint-{step}"))
        assert len(walk) == BATCHES * EPOCHS - step
        assert_equal(resumed.posterior, whole.posterior)


@pytest.mark.slow
def test_a_checkpoint_elsewhere_is_named_by_the_arguments(tmp_path):
    whole = callback()
    train(tmp_path / "old", whole, save_strategy="epoch")
    checkpoint = str(tmp_path / "old" / "checkpoint-12")
    resumed = callback()
    train(tmp_path / "new", resumed, checkpoint=checkpoint, resume_from_checkpoint=checkpoint)
    assert_equal(resumed.posterior, whole.posterior)
    with pytest.warns(UserWarning, match=r"^training resumes at step 12 with a new posterior, "):
        train(tmp_path / "new", resumed, checkpoint=checkpoint)
    assert resumed.posterior.updates == BATCHES * EPOCHS - 12


def test_the_last_checkpoint_is_found(tmp_path):
    train(tmp_path, callback(), max_steps=10, save_strategy="steps", save_steps=5)
    shutil.rmtree(tmp_path / "checkpoint-10")
    resumed, whole = callback(), callback()
    train(tmp_path, resumed, checkpoint=True, max_steps=12)
    train(tmp_path, whole, max_steps=12)
    assert_equal(resumed.posterior, whole.posterior)


def test_a_checkpoint_restores_a_posterior_without_a_trainer(tmp_path):
    learned = callback(filename="swag.pt")
    train(tmp_path, learned, save_strategy="epoch")
    saved = torch.load(tmp_path / "checkpoint-24" / "swag.pt", weights_only=True)
    posterior = WeightPosterior(make_model(), ESTIMATOR)
    posterior.load_state_dict(saved["posterior"])
    assert_equal(posterior, learned.posterior)


def test_files_that_are_no_state_are_rejected(tmp_path):
    train(tmp_path, callback(), save_strategy="epoch", max_steps=6)
    torch.save({}, tmp_path / "checkpoint-6" / "posterior.pt")
    with pytest.raises(CannotRestore, match="not the state of a PosteriorCallback"):
        train(tmp_path, callback(), checkpoint=True)


# -- several processes -------------------------------------------------------------------------


def train_rank(rank, folder, port):
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(reset_partial_state=True)  # that of the parent process
    GradientState._reset_state()
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    learned = callback()
    train(folder, learned, ddp_backend="gloo")
    drawn = learned.posterior.predict(make_texts(1)[0]["input_ids"][None], 3, random_state=0)
    torch.save({"state": learned.posterior.state_dict(), "drawn": drawn}, folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_all_processes_have_the_posterior_of_rank_0(tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(
        train_rank, args=(tmp_path, port), nprocs=2, start_method="fork"
    )
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    posteriors = [WeightPosterior(make_model(), ESTIMATOR) for _ in range(2)]
    for posterior, each in zip(posteriors, (first, second), strict=True):
        posterior.load_state_dict(each["state"])
    assert posteriors[0].updates == BATCHES * EPOCHS / 2
    assert_equal(*posteriors)
    assert torch.equal(first["drawn"], second["drawn"])


# -- mistakes ----------------------------------------------------------------------------------


def test_a_training_without_updates_is_reported(tmp_path):
    with pytest.warns(UserWarning, match=r"^the posterior was never updated: .* start=4 and every"):
        train(tmp_path, callback(start=EPOCHS))


def test_sharded_parameters_are_rejected(tmp_path):
    trainer = make_trainer(tmp_path, learned := callback())
    trainer.args.fsdp = "full_shard"
    with pytest.raises(ValueError, match=r"^FSDP shards the parameters"):
        learned.on_train_begin(trainer.args, trainer.state, trainer.control, model=trainer.model)


def test_there_is_no_posterior_before_training():
    with pytest.raises(NotFitted, match="before the trainer begins to train"):
        callback().posterior  # noqa: B018
