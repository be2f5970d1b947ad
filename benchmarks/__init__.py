"""How fast, how large: measured side by side in one run, because machines differ. `make bench`."""
