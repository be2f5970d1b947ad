"""Entry point of ``python -m onlinefa_benchmark``, which is the command ``onlinefa``.

The rules of the workflow use this form, which needs no installed script.
"""

from __future__ import annotations

import sys

from onlinefa_benchmark.cli import main

sys.exit(main())
