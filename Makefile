PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# The rules of the workflow call `python` and `onlinefa`: they must be those of the environment.
export PATH := $(BIN):$(PATH)

# All tests that need no cluster. One of the two processes begins with the tests that compile the kernels, the other
# with tests that need none of them, so that nothing is compiled twice. Tests of the workflow take longest and come next.
FIRST_TESTS := tests/library/estimators/test_sklearn.py tests/workflow/test_extending.py tests/workflow
OTHER_TESTS := $(wildcard tests/test_*.py) $(patsubst %/,%,$(wildcard tests/*/))
TESTS := $(FIRST_TESTS) $(filter-out tests/slurm tests/workflow tests/__pycache__,$(OTHER_TESTS)) src

# Two processes, each with one thread: more threads than cores slow each other down. A test module runs in one
# process, and modules start in the order in which they are listed.
PYTEST := OMP_NUM_THREADS=1 pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help run more-seeds test test-fast test-long test-slurm lint docs doctor bench conformance clean

help:  ## List the targets.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/installed  ## Run the default benchmark; the report is results/report.html.
	snakemake --profile profiles/local

more-seeds: $(VENV)/installed  ## Add seeds until standard errors are small enough: OPTIONS="--configfile mine.yaml".
	onlinefa add_seeds -- --profile profiles/local $(OPTIONS)

# The coverage, which takes a few minutes more, is that of the processes of pytest: jobs of a workflow that a test
# runs are not measured.
test: $(VENV)/installed-dev  ## Run all tests that need no cluster; COVERAGE=1 prints the coverage.
	$(PYTEST) -m "not long" $(if $(COVERAGE),--cov --cov-report=term) $(TESTS)

test-fast: $(VENV)/installed-dev  ## Run the tests of the library and of the benchmark that take little time: a minute and a half.
	$(PYTEST) -m "not long and not slow" tests/library tests/benchmark

test-long: $(VENV)/installed-dev  ## Run the tests that take minutes: killed runs, any number of threads.
	pytest -m long

# Slurm has time limits of its own, which a busy machine may exceed: failed tests are tried once more.
test-slurm: $(VENV)/installed-dev  ## Run the tests on a Slurm cluster of their own (Debian, root; skipped elsewhere).
	tests/install slurm
	pytest tests/slurm -rs || pytest tests/slurm -rs --last-failed

lint: $(VENV)/installed-dev  ## Check style, types, imports and the workflow.
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	snakefmt --check Snakefile workflow
	snakemake --lint

docs: $(VENV)/installed-dev  ## Build the documentation in site/.
	mkdocs build --strict

doctor: $(VENV)/installed  ## Check whether this cluster is ready for snakemake --profile slurm.
	onlinefa doctor

bench: $(if $(PEERS),.venv-conformance/installed,$(VENV)/installed-dev)  ## Measure time and memory: FULL=1 for the largest sizes (hours), ONLY=updates for one section, PEERS=1 with other packages.
	OMP_NUM_THREADS=1 $(if $(PEERS),.venv-conformance/bin/python,python) -m benchmarks $(if $(FULL),--full) $(if $(ONLY),--only $(ONLY))

conformance: .venv-conformance/installed  ## Compare SWAG of several packages with the paper (minutes); writes docs/conformance.md.
	OMP_NUM_THREADS=1 .venv-conformance/bin/python -m conformance

clean:  ## Remove results (except results/README.md) and Snakemake's records, not the environment.
	find results -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} + 2>/dev/null || true
	rm -rf .snakemake

# Stamps, so that nothing is installed twice.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
$(PYTHON) -m venv $(VENV)
python -m pip install --quiet --editable '.$(extra)' --constraint constraints.txt
touch $@
endef

$(VENV)/installed: extra := [benchmark]
$(VENV)/installed: pyproject.toml constraints.txt
	$(install)

$(VENV)/installed-dev: extra := [dev]
$(VENV)/installed-dev: pyproject.toml constraints.txt
	$(install)
	touch $(VENV)/installed

# The packages that SWAG is compared with, by its draws (conformance) and by its time (bench PEERS=1).
.venv-conformance/installed: conformance/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-conformance
	.venv-conformance/bin/python -m pip install --quiet --editable '.[benchmark]' --requirement conformance/requirements.txt
	touch $@
