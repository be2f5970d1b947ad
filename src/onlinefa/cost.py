"""How long a cell takes, about: for how many share a job, and for the time left."""

from __future__ import annotations

from onlinefa.cell import Group

# Of one core. The slowest algorithm takes a few times as long, the quickest a fraction of it.
_START = 0.2
_SYNTHETIC = 1e-8  # an observation, a column and a factor
_EPOCH = 6e-4  # of a walk over a table of a thousand rows
_NETWORK = 3e-5  # an epoch of a network's walk and a weight
_NUTS = 0.3  # a weight
_TRAINED = 3  # a posterior of a trained network, with its share of the training


def seconds_of(experiment: str, group: Group) -> float:
    """Seconds of one of a group's cells, right to a factor of five."""
    parameters = group.parameters
    if experiment in ("linear", "plane"):
        return _START + _EPOCH * float(parameters["epochs"])
    if experiment in ("network", "digits"):
        return _TRAINED
    if experiment == "gp":
        D = int(group.axes["D"])
        if group.axes["algorithm"] == "nuts":
            return _NUTS * D
        return 1 + _NETWORK * D * float(parameters["training"].get("epochs", 0))
    work = parameters["T"][-1] * int(group.axes["D"]) * max(int(group.axes["K"]), 10)
    return _START + _SYNTHETIC * float(work)
