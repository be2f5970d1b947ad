"""Tests of the callback of Lightning, with Lightning itself."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from support.posteriors import assert_equal, learn
from support.quiet import ignore_warnings
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from onlinefa import SWAG, Diagonal, RecursiveEM
from onlinefa.torch import NotFitted, TooFewUpdates, WeightPosterior
from onlinefa_benchmark.torchvision_operators import declare_missing_operators

declare_missing_operators()
lightning = pytest.importorskip("lightning.pytorch")

from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from lightning.pytorch.plugins.precision import MixedPrecision  # noqa: E402

from onlinefa.torch.lightning import PosteriorCallback  # noqa: E402

BATCHES, EPOCHS = 6, 4
ESTIMATOR = RecursiveEM(n_components=2, warm_up=5, block_size=3)


@pytest.fixture(autouse=True)
def no_warnings():
    with ignore_warnings():
        yield


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: a forked process cannot use the threads of its parent."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Module(lightning.LightningModule):
    """A regression that records its weights after each step of the optimiser."""

    def __init__(self, infinite=None):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.infinite = infinite  # a batch of the training whose gradients are infinite
        self.seen = 0
        self.walk = []  # (epoch, weights) after each batch

    def forward(self, inputs):
        return self.net(inputs)

    def training_step(self, batch):
        loss = nn.functional.mse_loss(self(batch[0]), batch[1])
        loss = loss * float("inf") if self.seen == self.infinite else loss
        self.seen += 1
        return loss

    def on_train_batch_end(self, *_):
        weights = nn.utils.parameters_to_vector(self.parameters()).detach().clone()
        self.walk.append((self.current_epoch, weights))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


def loader():
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(8 * BATCHES, 3, generator=random)
    return DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin()), batch_size=8)


def fit(*callbacks, module=None, ckpt_path=None, max_epochs=EPOCHS, **options):
    module = module or Module()
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=max_epochs,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=any(isinstance(each, ModelCheckpoint) for each in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(module, loader(), ckpt_path=ckpt_path)
    return module, trainer


def callback(estimator=ESTIMATOR, start=0, every=1, **options):
    return PosteriorCallback(estimator, start, every, **options)


@pytest.mark.parametrize(
    ("start", "every", "chosen"),
    [
        (0, 1, range(24)),
        (2, 1, range(12, 24)),
        (0.5, 1, range(12, 24)),
        (0.6, 1, range(14, 24)),  # the first 14.4 steps are left out
        (1, 5, [10, 15, 20]),
        (0, "epoch", [5, 11, 17, 23]),
        (1, "epoch", [11, 17, 23]),
        (0.6, "epoch", [17, 23]),
    ],
)
def test_the_posterior_learns_from_the_weights_of_the_schedule(start, every, chosen):
    learned = callback(Diagonal(), start, every)
    module, _ = fit(learned)
    assert len(module.walk) == BATCHES * EPOCHS
    expected = learn(Module(), Diagonal(), [module.walk[step][1] for step in chosen])
    assert learned.posterior.model is module
    assert_equal(learned.posterior, expected)


def test_the_posterior_is_that_of_a_plain_loop():
    learned = callback()
    fit(learned)
    plain = Module()
    optimiser = plain.configure_optimizers()
    posterior = WeightPosterior(plain, ESTIMATOR)
    for _ in range(EPOCHS):
        for batch in loader():
            optimiser.zero_grad()
            plain.training_step(batch).backward()
            optimiser.step()
            posterior.update()
    assert_equal(learned.posterior, posterior)
    inputs = torch.ones(2, 3)
    draws = [each.predict(inputs, 3, random_state=0) for each in (learned.posterior, posterior)]
    assert torch.equal(*draws)
    # A drawn network is a module of its own, without the trainer.
    drawn = learned.posterior.sample(0)
    assert isinstance(drawn, Module)
    assert torch.equal(drawn(inputs), draws[0][0])


def test_accumulated_gradients_are_one_step():
    learned = callback()
    module, trainer = fit(learned, accumulate_grad_batches=3)
    assert learned.posterior.updates == trainer.global_step == BATCHES * EPOCHS / 3
    assert_equal(learned.posterior, learn(Module(), ESTIMATOR, [w for _, w in module.walk[2::3]]))


def test_skipped_steps_of_mixed_precision_do_not_count():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    precision = MixedPrecision("16-mixed", "cpu", scaler)
    learned = callback()
    module, trainer = fit(learned, module=Module(infinite=7), plugins=[precision])
    weights = [weights for _, weights in module.walk]
    assert torch.equal(weights[6], weights[7])
    assert trainer.global_step == 24  # Lightning counts the skipped step
    assert learned.posterior.updates == 23
    assert_equal(learned.posterior, learn(Module(), ESTIMATOR, weights[:7] + weights[8:]))


# -- checkpoints -------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 4, "epoch"])
@pytest.mark.parametrize("interrupted", ["epoch", "last step of an epoch"])
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, every, interrupted):
    whole = callback(Diagonal(), 1, every)
    fit(whole)
    # Two epochs, from checkpoints that are saved after an epoch or after its last step.
    when = (
        {"save_on_train_epoch_end": True} if interrupted == "epoch" else {"every_n_train_steps": 12}
    )
    saved = ModelCheckpoint(tmp_path, filename="saved", **when)
    fit(callback(Diagonal(), 1, every), saved, max_epochs=2)
    resumed = callback(Diagonal(), 1, every)
    module, _ = fit(resumed, ckpt_path=tmp_path / "saved.ckpt")
    assert len(module.walk) == BATCHES * (EPOCHS - 2)
    assert_equal(resumed.posterior, whole.posterior)


def test_several_callbacks_have_their_own_states(tmp_path):
    def make():
        head = callback(SWAG(n_components=2), parameters="net.2")
        return callback(SWAG(n_components=2)), callback(SWAG(n_components=3)), head

    whole = make()
    fit(*whole)
    fit(*make(), ModelCheckpoint(tmp_path, filename="saved"), max_epochs=2)
    resumed = make()
    fit(*resumed, ckpt_path=tmp_path / "saved.ckpt")
    for one, two in zip(resumed, whole, strict=True):
        assert_equal(one.posterior, two.posterior)


def test_a_checkpoint_restores_a_posterior_without_a_trainer(tmp_path):
    learned = callback()
    _, trainer = fit(learned)
    trainer.save_checkpoint(tmp_path / "saved.ckpt")
    checkpoint = torch.load(tmp_path / "saved.ckpt", weights_only=True)
    posterior = WeightPosterior(Module(), ESTIMATOR)
    posterior.load_state_dict(checkpoint["callbacks"][learned.state_key]["posterior"])
    assert_equal(posterior, learned.posterior)


def test_only_fit_reads_the_state_of_a_checkpoint(tmp_path):
    learned = callback(Diagonal())
    saved = ModelCheckpoint(tmp_path, every_n_train_steps=10, filename="saved")
    module, trainer = fit(learned, saved)
    module.validation_step = module.training_step
    trainer.validate(module, loader(), ckpt_path=tmp_path / "saved.ckpt", verbose=False)
    assert learned.posterior.updates == BATCHES * EPOCHS
    fit(learned)  # a new posterior
    assert learned.posterior.updates == BATCHES * EPOCHS


def test_callbacks_with_other_settings_have_states_of_their_own():
    one, two = callback(), callback(RecursiveEM(n_components=2, warm_up=5, block_size=4))
    fit(one, two, max_epochs=1)
    assert one.posterior.updates == two.posterior.updates > 0
    keys = [
        PosteriorCallback(SWAG(2), parameters=names).state_key for names in (["a"], ["b"], None)
    ]
    assert len({one.state_key, two.state_key, *keys}) == 5


# -- several processes -------------------------------------------------------------------------


class Recorder(lightning.Callback):
    """Write what each process has when training ends."""

    def __init__(self, learned, folder):
        self.learned, self.folder = learned, folder

    def on_train_end(self, trainer, pl_module):
        state = self.learned.posterior.state_dict()
        drawn = self.learned.posterior.predict(torch.ones(2, 3), 4, random_state=0)
        torch.save(
            {"state": state, "drawn": drawn}, Path(self.folder) / f"{trainer.global_rank}.pt"
        )


@pytest.mark.slow
def test_all_processes_have_the_posterior_of_rank_0(tmp_path):
    learned = callback()
    fit(
        learned,
        Recorder(learned, tmp_path),
        devices=2,
        strategy="ddp_fork",
        use_distributed_sampler=True,
    )
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    posteriors = []
    for each in (first, second):
        posteriors.append(WeightPosterior(Module(), ESTIMATOR))
        posteriors[-1].load_state_dict(each["state"])
    assert posteriors[0].updates == BATCHES * EPOCHS / 2
    assert_equal(*posteriors)
    assert torch.equal(first["drawn"], second["drawn"])


def test_sharded_parameters_are_rejected():
    from lightning.pytorch.strategies import FSDPStrategy

    learned = callback()
    trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.strategy.__class__ = FSDPStrategy
    with pytest.raises(ValueError, match=r"^FSDPStrategy shards the parameters"):
        learned.on_fit_start(trainer, Module())


# -- mistakes ----------------------------------------------------------------------------------


def test_a_training_without_updates_is_reported():
    learned = callback(start=EPOCHS)
    with pytest.warns(
        UserWarning, match=r"^the posterior was never updated: .* start=4 and every=1"
    ):
        fit(learned)
    with pytest.raises(TooFewUpdates):
        learned.posterior.gaussian()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the posterior")
        fit(callback())


@pytest.mark.parametrize("start", [-1, 1.0, -0.1])
def test_an_invalid_start_is_rejected(start):
    with pytest.raises(ValueError, match=rf"^start={start} must be a number of epochs, or a frac"):
        callback(start=start)


@pytest.mark.parametrize("every", [0, 1.5, "step"])
def test_an_invalid_interval_is_rejected(every):
    with pytest.raises(ValueError, match=rf"^every={every!r} must be \"epoch\" or a positive"):
        callback(every=every)


def test_a_fraction_of_an_endless_training_is_rejected():
    with pytest.raises(
        ValueError, match=r"^start=0.5 is a fraction, but the number of steps is no"
    ):
        fit(callback(start=0.5), max_epochs=-1, max_time={"hours": 1})


def test_there_is_no_posterior_before_training():
    with pytest.raises(NotFitted, match="before the trainer begins to train"):
        callback().posterior  # noqa: B018
