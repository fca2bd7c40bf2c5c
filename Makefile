# Thin on purpose: fdiv/course/guides/set_up.md shows the plain command behind each target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
MADE := $(VENV)/made-by-make

ifneq ($(words $(VENV))$(findstring *,$(VENV))$(findstring ?,$(VENV))$(findstring [,$(VENV)),1)
$(error VENV is '$(VENV)', but must name one folder, without a space or * ? [)
endif

.PHONY: run check test torture lab refresh bench clean clean-runs environment

run: environment  ## execute every notebook in quick mode; pages in runs/quick/index.html
	$(BIN)/python -m fdiv run

# Without bytecode (PYTHONDONTWRITEBYTECODE) every process would compile the tests anew: a third of its start.
check test: export PYTHONDONTWRITEBYTECODE =

check: environment  ## for daily work: style, types, pairs, and every quick test without a kernel, a browser or a network
	$(BIN)/python -m ruff check . && $(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m fdiv check
	$(BIN)/python -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder -p no:nbval -o addopts=--strict-markers -m "not kernel and not slow and not browser" tests

# Three processes even where there are two cores: they often wait, for a kernel, a browser or a cluster.
test: environment  ## style, types, and every test: nbval on every notebook, and the browser where there is one
	$(BIN)/python -m ruff check . && $(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest -q -n 3 --dist loadscope --no-loadscope-reorder

torture: environment  ## thousands of damaged files, odd inputs and kills; prints how each kind ended
	$(BIN)/python tests/slow/torture.py

lab: environment  ## open JupyterLab on the notebooks
	$(BIN)/python -m jupyterlab notebooks

refresh: environment  ## execute the notebooks again and store them with their outputs, for committing
	$(BIN)/python -m fdiv refresh

bench: environment  ## how fast a training step is, as ratios; writes data/results/benchmarks.csv
	$(BIN)/python tests/benchmarks/bench.py

clean:  ## remove the environment that make built; runs/ and the downloaded datasets stay
	@if [ -e $(VENV) -o -L $(VENV) ] && [ ! -e $(MADE) ]; then echo "$(VENV) was not made by make and stays: delete it by hand" >&2; else rm -rf $(VENV); fi

clean-runs:  ## remove runs/ with every page, checkpoint and result in it
	rm -rf runs

# The set-up, and each time a look at the environment's own Python: a stale one would fail with a riddle later.
environment: $(READY)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(VENV) holds a Python that is older than 3.11 or does not start: delete the folder and call make again" >&2; exit 1; }

# $(MADE) says that the environment is ours, $(READY) that it is whole. Ours but not whole, it is made again from
# nothing, since half-installed packages look complete to pip. Neither, it is somebody else's and is left alone.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "fdiv needs Python 3.11 or newer, and $(PYTHON) is %d.%d: try  make PYTHON=python3.12" % sys.version_info[:2])'
	@if [ -e $(VENV) -o -L $(VENV) ] && [ ! -e $(MADE) ] && [ ! -e $(READY) ]; then echo "$(VENV) was not made by make and is left alone: delete it, or choose another folder with  make VENV=.venv-make , or, if it is complete,  touch $(READY)" >&2; exit 1; fi
	@if [ ! -e $(READY) ]; then rm -rf $(VENV) && mkdir -p $(VENV) && touch $(MADE); fi
	@rm -f $(READY)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q --progress-bar on -c constraints.txt -e '.[dev]'
	@touch $(READY)
