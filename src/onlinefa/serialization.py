"""Conversion of the state of an estimator to plain values and arrays, and back.

An estimator that is restored continues as if it had not been interrupted, to the bit. The saved
state consists of numbers, strings, None, lists, dicts and arrays only. It can be stored in any file
format that keeps the memory layout of arrays, on which the rounding of sums depends; the formats of
NumPy and PyTorch keep it. Restoring never runs saved code: saved values are filled into a state
that the estimator itself has created.

Examples
--------
>>> import numpy as np
>>> from onlinefa import OnlineEM
>>> from onlinefa.serialization import restore, save
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

from onlinefa._arrays import NUMPY, ArrayKind, is_torch_array, to_numpy
from onlinefa.estimators.base import FactorEstimator, FitDiverged, _Diverged

__all__ = ["CannotRestore", "restore", "save"]

_KEYS = {"estimator", "settings", "columns", "dtype", "state"}
_NUMBERS = "biuf"  # kinds of arrays; those of other kinds may contain any object


class CannotRestore(ValueError):
    """Exception for a saved state that does not belong to the estimator or the network."""


def save(estimator: FactorEstimator) -> dict[str, Any]:
    """Convert the state of an estimator to plain values and arrays.

    Parameters
    ----------
    estimator : FactorEstimator
        The estimator, fitted or not.

    Returns
    -------
    saved : dict
        The state, which does not change when the estimator learns from further rows.

    Raises
    ------
    FitDiverged
        If the fit has diverged.
    TypeError
        If the state contains a value that is not plain.
    """
    state = getattr(estimator, "_state", None)
    if isinstance(state, _Diverged):
        raise FitDiverged(state.message)
    started = state is not None
    return {
        "estimator": type(estimator).__name__,
        "settings": _get_settings(estimator),
        "columns": int(estimator.n_features_in_) if started else None,
        "dtype": estimator._kind.dtype_name if started else None,
        "state": _to_plain(state, "the state"),
    }


def restore(estimator: FactorEstimator, saved: Mapping[str, Any], *, like: Any = None) -> None:
    """Replace what an estimator has learned by a saved state.

    Parameters
    ----------
    estimator : FactorEstimator
        Estimator of the same class and with the same settings as the saved one. It is unchanged if
        an exception is raised.
    saved : mapping
        The result of `save`.
    like : array, torch.Tensor or None, default=None
        The estimator continues with arrays of the library and on the device of this one; None for
        NumPy. The data type is that of the saved state.

    Raises
    ------
    CannotRestore
        If the state was saved by another class, with other settings or by another version.
    """
    _check(estimator, saved)
    with estimator._unchanged_on_error():
        learned = ("_state", "_last_estimate", "_kind", "n_features_in_", "feature_names_in_")
        for name in learned:
            estimator.__dict__.pop(name, None)
        if saved["state"] is not None:
            estimator._validate_params()
            kind = NUMPY if like is None else ArrayKind.of(like)
            estimator._kind = kind = kind.with_dtype(saved["dtype"])
            estimator.n_features_in_ = saved["columns"]
            estimator._last_estimate = []
            fresh = estimator._start(saved["columns"])
            estimator._state = _fill(fresh, saved["state"], "the state", kind)


def _check(estimator: FactorEstimator, saved: Mapping[str, Any]) -> None:
    if saved.keys() != _KEYS:
        raise CannotRestore("this is not a saved estimator")
    name = type(estimator).__name__
    if saved["estimator"] != name:
        raise CannotRestore(f"the saved estimator is {saved['estimator']}, this one is {name}")
    before, now = saved["settings"], _get_settings(estimator)
    for setting in sorted(before.keys() & now.keys()):
        if before[setting] != now[setting]:
            raise CannotRestore(
                f"{name} was saved with {setting}={before[setting]!r}, "
                f"this one has {setting}={now[setting]!r}"
            )


def _get_settings(estimator: FactorEstimator) -> dict[str, Any]:
    """Collect the parameters that have a plain value.

    Initial factors and generators of random numbers are left out: they have no effect once a state
    has been started.
    """
    values = estimator.get_params(deep=False).items()
    plain = ((name, v.item() if isinstance(v, np.generic) else v) for name, v in values)
    return {name: value for name, value in plain if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _to_plain(value: Any, place: str) -> Any:
    """Convert a value; an object becomes a dict with its kind and values."""
    if _is_plain(value):
        return value
    if is_torch_array(value):
        return np.array(to_numpy(value), order="K")
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _NUMBERS:
        return np.array(value, order="K")  # a NumPy number becomes an array without dimensions
    if isinstance(value, list):
        return [_to_plain(item, f"{place}[{n}]") for n, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"kind": "tuple", "values": _to_plain(list(value), place)}
    if isinstance(value, dict):
        return {"kind": "dict", "values": _items_to_plain(value, place)}
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return {"kind": "random numbers", "values": _to_plain(_get_position(value), place)}
    if hasattr(value, "__dict__") and not callable(value):
        name = type(value).__name__
        return {"kind": "object", "class": name, "values": _items_to_plain(vars(value), place)}
    raise TypeError(f"{place} is a {type(value).__name__}, which cannot be saved")


def _items_to_plain(values: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {name: _to_plain(value, f"{place}.{name}") for name, value in values.items()}


def _fill(fresh: Any, saved: Any, place: str, kind: ArrayKind) -> Any:
    """Return the saved value; objects are taken from the fresh state and filled with its values."""
    if isinstance(saved, np.ndarray):
        return kind.make(saved.copy(order="K")) if saved.ndim else saved[()]
    if isinstance(saved, list):
        fresh = fresh if isinstance(fresh, list | tuple) and len(fresh) == len(saved) else ()
        return [
            _fill(fresh[n] if fresh else None, item, f"{place}[{n}]", kind)
            for n, item in enumerate(saved)
        ]
    if not isinstance(saved, dict):
        return saved
    values = saved["values"]
    if saved["kind"] == "tuple":
        return tuple(_fill(fresh, values, place, kind))
    if saved["kind"] == "dict":
        return _fill_items(fresh if isinstance(fresh, dict) else {}, values, place, kind)
    if saved["kind"] == "random numbers":
        return _set_position(fresh, _fill(None, values, place, NUMPY), place)
    return _fill_object(fresh, saved["class"], values, place, kind)


def _fill_items(
    fresh: Mapping[str, Any], saved: Mapping[str, Any], place: str, kind: ArrayKind
) -> dict[str, Any]:
    return {
        name: _fill(fresh.get(name), value, f"{place}.{name}", kind)
        for name, value in saved.items()
    }


def _fill_object(
    fresh: Any, name: str, values: Mapping[str, Any], place: str, kind: ArrayKind
) -> Any:
    _check_same(name, type(fresh).__name__, place)
    _check_complete(vars(fresh), values, place)
    filled = _fill_items(vars(fresh), values, place, kind)
    vars(fresh).clear()
    vars(fresh).update(filled)
    return fresh


def _check_same(saved: str, fresh: str, place: str) -> None:
    if saved != fresh:
        raise CannotRestore(f"{place} was saved as {saved}, here it is {fresh}")


def _check_complete(names: Iterable[str], saved: Mapping[str, Any], place: str) -> None:
    """Check that all attributes of a fresh object were saved.

    A state may get further attributes as it learns, but never loses one: if one is missing, the
    state was saved by another version.
    """
    for name in names:
        if name not in saved:
            raise CannotRestore(f"{place}.{name} was not saved: another version of onlinefa?")


def _get_position(random: np.random.Generator | np.random.RandomState) -> dict[str, Any]:
    """Return the position of a generator in its sequence."""
    if isinstance(random, np.random.Generator):
        return dict(random.bit_generator.state)
    state = random.get_state(legacy=False)
    assert isinstance(state, dict)
    return state


def _set_position(random: Any, position: dict[str, Any], place: str) -> Any:
    """Move a fresh generator of the same kind to the saved position."""
    if not isinstance(random, np.random.Generator | np.random.RandomState):
        raise CannotRestore(f"{place} was saved as a generator of random numbers, here it is none")
    _check_same(position["bit_generator"], _get_position(random)["bit_generator"], place)
    if isinstance(random, np.random.Generator):
        random.bit_generator.state = position
    else:
        random.set_state(position)
    return random
