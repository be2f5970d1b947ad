"""Run the command ``onlinefa``: ``python -m onlinefa_benchmark``.

The rules of the workflow call it like this, so that they need no installed script.
"""

from __future__ import annotations

import sys

from onlinefa_benchmark.cli import main

sys.exit(main())
