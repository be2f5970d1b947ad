"""The commands of `python -m onlinefa`, a file for each kind of them.

What a command needs is imported when it is called: a job of the workflow may take less time than
the import of what other jobs need.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from onlinefa.commands import adding_seeds, aggregating, asking, drawing, fitting, reporting

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

KINDS = (fitting, aggregating, drawing, reporting, adding_seeds, asking)
