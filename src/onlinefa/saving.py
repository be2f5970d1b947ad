"""What an estimator has learned as plain values and arrays, and back.

An estimator that is restored goes on as if it had never been interrupted, to the bit. What is saved
has numbers, strings, None, lists, dicts and arrays in it and nothing else, so that any format will
do that keeps the arrays' layout in memory, on which the rounding of sums depends; NumPy's and
PyTorch's do. To restore it runs no code that was saved: values go into a state that the estimator
itself has started.

>>> import numpy as np
>>> from onlinefa import OnlineEM
>>> from onlinefa.saving import restore, save
>>> rows = np.random.default_rng(0).normal(size=(300, 5))
>>> interrupted = save(OnlineEM(n_components=2, random_state=0).fit(rows[:200]))
>>> model = OnlineEM(n_components=2, random_state=0)
>>> restore(model, interrupted)
>>> whole = OnlineEM(n_components=2, random_state=0).fit(rows)
>>> bool(np.all(model.partial_fit(rows[200:]).components_ == whole.components_))
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from onlinefa.estimators.base import FactorEstimator, FitDiverged, _Diverged

_KEYS = {"estimator", "settings", "columns", "dtype", "state"}
_NUMBERS = "biuf"  # kinds of arrays; what is in others may be any object


class CannotRestore(ValueError):
    """What was saved belongs to something else."""


def save(estimator: FactorEstimator) -> dict[str, Any]:
    """All that an estimator has learned, which later rows do not change."""
    state = getattr(estimator, "_state", None)
    if isinstance(state, _Diverged):
        raise FitDiverged(state.message)
    started = state is not None
    return {
        "estimator": type(estimator).__name__,
        "settings": _settings(estimator),
        "columns": int(estimator.n_features_in_) if started else None,
        "dtype": estimator._dtype.name if started else None,
        "state": _plain(state, "the state"),
    }


def restore(estimator: FactorEstimator, saved: Mapping[str, Any]) -> None:
    """Forget what the estimator has learned, and go on from what was saved."""
    _check(estimator, saved)
    with estimator._unchanged_on_bad_input():
        for name in ("_state", "_last_estimate", "_dtype", "n_features_in_"):
            estimator.__dict__.pop(name, None)
        if saved["state"] is not None:
            estimator.check_parameters()
            estimator._dtype = np.dtype(saved["dtype"])
            estimator.n_features_in_ = saved["columns"]
            estimator._last_estimate = []
            fresh = estimator._start(saved["columns"])
            estimator._state = _filled(fresh, saved["state"], "the state")


def _check(estimator: FactorEstimator, saved: Mapping[str, Any]) -> None:
    if saved.keys() != _KEYS:
        raise CannotRestore("this is not what an estimator was saved as")
    name = type(estimator).__name__
    if saved["estimator"] != name:
        raise CannotRestore(f"saved was {saved['estimator']}, this is {name}")
    before, now = saved["settings"], _settings(estimator)
    for setting in sorted(before.keys() & now.keys()):
        if before[setting] != now[setting]:
            raise CannotRestore(
                f"{name} was saved with {setting}={before[setting]!r}, "
                f"this one has {setting}={now[setting]!r}"
            )


def _settings(estimator: FactorEstimator) -> dict[str, Any]:
    """Those that have a plain value. Initial factors and generators that a user has made are not
    among them: all that they tell is in the state, once it has started."""
    values = estimator.get_params(deep=False).items()
    plain = ((name, v.item() if isinstance(v, np.generic) else v) for name, v in values)
    return {name: value for name, value in plain if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _plain(value: Any, place: str) -> Any:
    """A value without objects; what is not plain, list or array becomes a dict with its kind."""
    if _is_plain(value):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _NUMBERS:
        return np.array(value, order="K")  # of a NumPy number an array without dimensions
    if isinstance(value, list):
        return [_plain(item, f"{place}[{n}]") for n, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"kind": "tuple", "values": _plain(list(value), place)}
    if isinstance(value, dict):
        return {"kind": "dict", "values": _plain_items(value, place)}
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return {"kind": "random numbers", "values": _plain(_position(value), place)}
    if hasattr(value, "__dict__") and not callable(value):
        name = type(value).__name__
        return {"kind": "object", "class": name, "values": _plain_items(vars(value), place)}
    raise TypeError(f"{place} is a {type(value).__name__}, which cannot be saved")


def _plain_items(values: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {name: _plain(value, f"{place}.{name}") for name, value in values.items()}


def _filled(fresh: Any, saved: Any, place: str) -> Any:
    """What was saved; objects in it are the fresh ones from the same place, with saved values."""
    if isinstance(saved, np.ndarray):
        return saved.copy(order="K") if saved.ndim else saved[()]
    if isinstance(saved, list):
        fresh = fresh if isinstance(fresh, list | tuple) and len(fresh) == len(saved) else ()
        return [
            _filled(fresh[n] if fresh else None, item, f"{place}[{n}]")
            for n, item in enumerate(saved)
        ]
    if not isinstance(saved, dict):
        return saved
    kind, values = saved["kind"], saved["values"]
    if kind == "tuple":
        return tuple(_filled(fresh, values, place))
    if kind == "dict":
        return _filled_items(fresh if isinstance(fresh, dict) else {}, values, place)
    if kind == "random numbers":
        return _moved(fresh, _filled(None, values, place), place)
    return _filled_object(fresh, saved["class"], values, place)


def _filled_items(fresh: Mapping[str, Any], saved: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {
        name: _filled(fresh.get(name), value, f"{place}.{name}") for name, value in saved.items()
    }


def _filled_object(fresh: Any, name: str, values: Mapping[str, Any], place: str) -> Any:
    _same(name, type(fresh).__name__, place)
    _nothing_missing(vars(fresh), values, place)
    filled = _filled_items(vars(fresh), values, place)
    vars(fresh).clear()
    vars(fresh).update(filled)
    return fresh


def _same(saved: str, fresh: str, place: str) -> None:
    if saved != fresh:
        raise CannotRestore(f"{place} was saved as a {saved}, and is a {fresh} here")


def _nothing_missing(names: Iterable[str], saved: Mapping[str, Any], place: str) -> None:
    """A state may learn of more as it goes on, never of less: then it is another version's."""
    for name in names:
        if name not in saved:
            raise CannotRestore(f"{place}.{name} was not saved: by another version?")


def _position(random: np.random.Generator | np.random.RandomState) -> dict[str, Any]:
    """Where a generator is in its sequence."""
    if isinstance(random, np.random.Generator):
        return dict(random.bit_generator.state)
    state = random.get_state(legacy=False)
    assert isinstance(state, dict)
    return state


def _moved(random: Any, position: dict[str, Any], place: str) -> Any:
    """A fresh generator of the same kind, moved to where the saved one was."""
    if not isinstance(random, np.random.Generator | np.random.RandomState):
        raise CannotRestore(f"{place} was saved as random numbers, and is none here")
    _same(position["bit_generator"], _position(random)["bit_generator"], place)
    if isinstance(random, np.random.Generator):
        random.bit_generator.state = position
    else:
        random.set_state(position)
    return random
