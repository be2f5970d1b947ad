"""How long cells take, about: how many share a job, which jobs start first, how long is left."""

from __future__ import annotations

from collections.abc import Iterable

from onlinefa.cell import Bundle, Group

# Of one core. The slowest algorithm takes a few times as long, the quickest a fraction of it.
_START = 0.2
_SYNTHETIC = 1e-8  # an observation, a column and a factor
_EPOCH = 8e-4  # of a walk over a table of a thousand rows
_FUNCTION = 0.5  # a posterior of functions, with its share of the training
_NETWORK = 2e-6  # an epoch of a network's walk and a weight
_NUTS = 0.3  # a weight
_TRAINED = 5e-7  # a candidate's step and a weight, with its share of the training


def seconds_of(experiment: str, group: Group) -> float:
    """Seconds of one of a group's cells, right to a factor of five."""
    parameters = group.parameters
    if experiment in ("linear", "plane"):
        return _EPOCH * float(parameters["epochs"])
    if experiment in ("network", "digits"):
        training = parameters["training"]
        steps = training["candidates"] * (training["steps"] + training["walk"])
        return _TRAINED * float(steps) * int(group.axes["D"])
    if experiment == "gp":
        D = int(group.axes["D"])
        if group.axes["algorithm"] == "nuts":
            return _NUTS * D
        return _FUNCTION + _NETWORK * D * float(parameters["training"].get("epochs", 0))
    work = parameters["T"][-1] * int(group.axes["D"]) * max(int(group.axes["K"]), 10)
    return _START + _SYNTHETIC * float(work)


def seconds_of_seed(experiment: str, groups: Iterable[Group]) -> float:
    """Seconds of one cell of each group."""
    return sum(seconds_of(experiment, group) for group in groups)


def seconds_of_job(bundle: Bundle) -> float:
    """Seconds of all of a job's cells."""
    return len(bundle.seeds) * seconds_of_seed(bundle.experiment, bundle.groups)
