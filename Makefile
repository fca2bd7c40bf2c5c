# Thin on purpose: README.md shows the plain command behind each target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: run test lab refresh bench clean

run: $(READY)  ## execute every notebook in quick mode; pages in runs/quick/index.html
	$(BIN)/python -m fdiv run

test: $(READY)  ## style, unit tests, notebook structure, nbval, and the browser where there is one
	$(BIN)/python -m ruff check . && $(BIN)/python -m ruff format --check .
	$(BIN)/python -m pytest -q -n 2 --dist loadscope -m "not browser"
	$(BIN)/python -m pytest -q -n 2 --dist loadscope -m browser tests/browser

lab: $(READY)  ## open JupyterLab on the notebooks
	$(BIN)/python -m jupyterlab notebooks

refresh: $(READY)  ## execute the notebooks again and store them with their outputs, for committing
	$(BIN)/python -m fdiv refresh

bench: $(READY)  ## how fast a training step is, as ratios; writes data/results/benchmarks.csv
	$(BIN)/python tests/benchmarks/bench.py

clean:  ## remove what make built (the downloaded datasets stay)
	rm -rf $(VENV) runs

# A set-up that never finished has no $(READY) and starts from an empty folder: half-installed packages look
# complete to pip.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "fdiv needs Python 3.11 or newer, and $(PYTHON) is %d.%d: try  make PYTHON=python3.12" % sys.version_info[:2])'
	@test -e $(READY) || rm -rf $(VENV)
	@rm -f $(READY)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q --progress-bar on -c constraints.txt -e '.[dev]'
	@touch $(READY)
