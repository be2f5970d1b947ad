# make run: set up and run the default benchmark.   make test: set up and run the tests.
# make test-long: what takes longest to find out: twenty kills, the same bits from any number of threads.
# make lint: check style and types.                 make clean: remove results, not the environment.
# make test-slurm: on a real Slurm cluster of its own (Debian, root; skipped elsewhere).
# make doctor: is this cluster ready for `snakemake --profile slurm`?
# make more-seeds OPTIONS="--configfile mine.yaml": add seeds until standard errors are small enough.
# make bench: how fast, how large.                  make bench FULL=1: with the largest sizes, for hours.
#                                                   make bench ONLY=updates: one section of it.

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# Rules of the workflow call `python`: it must be the one of the environment.
export PATH := $(BIN):$(PATH)

.PHONY: run more-seeds test test-long test-slurm lint doctor bench clean

run: $(VENV)/installed
	snakemake --profile profiles/local

more-seeds: $(VENV)/installed
	python -m onlinefa enough_seeds -- --profile profiles/local $(OPTIONS)

# Two processes with as many threads each as there are cores would wait for one another.
test: export OMP_NUM_THREADS := 1
test: $(VENV)/installed-dev
	pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not long"

test-long: $(VENV)/installed-dev
	pytest -m long

test-slurm: $(VENV)/installed-dev
	tests/install slurm
# Slurm has time limits of its own, for which a busy machine may be too slow: what failed is tried once more.
	pytest tests/slurm -rs || pytest tests/slurm -rs --last-failed

lint: $(VENV)/installed-dev
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint

doctor: $(VENV)/installed
	python -m onlinefa doctor

bench: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 python -m benchmarks $(if $(FULL),--full) $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf results .snakemake

# Stamps, so that nothing is installed twice.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
$(PYTHON) -m venv $(VENV)
python -m pip install --quiet --editable '.$(extra)' --constraint constraints.txt
touch $@
endef

$(VENV)/installed: extra := [networks]
$(VENV)/installed: pyproject.toml constraints.txt
	$(install)

$(VENV)/installed-dev: extra := [dev]
$(VENV)/installed-dev: pyproject.toml constraints.txt
	$(install)
	touch $(VENV)/installed
