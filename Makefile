# Two commands on a fresh machine: `make demo` shows what unhub does, `make test` proves it.
# Each makes a virtual environment of its own and needs Python 3.11 or newer, make and a package registry.

PYTHON ?= python3
VENV_DEMO = .venv-demo
VENV = .venv
HERE = demo-output/emoji-de
PAGE = --targets $(HERE)/targets.npy --queries $(HERE)/queries.npy --relevant $(HERE)/relevant.npy \
	--target-bank $(HERE)/target_bank.npy --captions $(HERE)/queries.txt --bank-captions $(HERE)/query_bank.txt \
	--target-captions $(HERE)/targets.txt --encoder unhub.demo.emoji:encode
VENV_BENCH = .venv-bench
BIN = $(VENV)/bin
SYSTEM = unicode-cldr-core texlive-latex-extra poppler-utils chromium

.DEFAULT_GOAL := help
.PHONY: help demo demo-clipart page test lint types format bench bench-flickr30k bench-stores bench-page bench-experiments docs clean

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 24

demo: $(VENV_DEMO)/.ready  ## find an emoji in German, before and after (a few minutes the first time)
	$(VENV_DEMO)/bin/unhub demo emoji

demo-clipart: $(VENV_DEMO)/.ready  ## find a drawing by its words
	$(VENV_DEMO)/bin/unhub demo clipart

page: demo-output/emoji-de/emoji.unhub  ## the demo's emoji in the browser: hubs, comparisons, a map (Ctrl-C ends it)
	$(VENV_DEMO)/bin/unhub serve $< $(PAGE)

demo-output/emoji-de/emoji.unhub: | $(VENV_DEMO)/.ready
	$(VENV_DEMO)/bin/unhub demo emoji

test: $(VENV)/.ready $(VENV)/.system lint  ## lint, types, import layers, and every test
	$(BIN)/python -m pytest -n auto --dist loadgroup tests
	$(BIN)/python -m pytest --doctest-modules -q src/unhub

lint: $(VENV)/.ready  ## ruff, mypy in strict mode, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.ready  ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-stores: $(VENV)/.ready  ## corrected beside raw search in every store, exports beside bulk writes, a million vectors
	$(BIN)/python benchmarks/in_stores.py
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/forms.py

bench-page: $(VENV)/.ready  ## how quickly the page answers, and a hundred visitors at once
	$(BIN)/python benchmarks/page.py

bench-experiments: $(VENV)/.ready  ## every table and figure of an experiment with a bank of 30,000 queries (minutes)
	$(BIN)/python benchmarks/reproduction.py

docs: $(VENV)/.ready  ## the documentation, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV_BENCH)/.ready  ## speed beside a matrix product and beside peers, as ratios (about half an hour)
	$(VENV_BENCH)/bin/python benchmarks/speed.py
	$(VENV_BENCH)/bin/python benchmarks/growth.py
	$(VENV_BENCH)/bin/python benchmarks/anatomy.py
	$(VENV_BENCH)/bin/python benchmarks/evaluate_all.py

bench-flickr30k: $(VENV_BENCH)/.ready  ## dbsn at the size of Flickr30k's training set: minutes, 11 GB of memory
	$(VENV_BENCH)/bin/python benchmarks/flickr30k_scale.py

clean:  ## remove environments and what was built
	rm -rf $(VENV) $(VENV_DEMO) $(VENV_BENCH) site build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis

# An environment is ready once everything in it is installed; a broken install leaves no mark and is made again.
$(VENV)/.ready: pyproject.toml requirements/test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'open-clip-torch>=3'  # without CUDA's torchvision
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

# What tests use of the system: Unicode's tables, which one test rebuilds the emoji table from; a LaTeX with booktabs
# and multirow, which tables are set with, and pdftotext, which reads them; a browser, which opens the report and the
# page. Without the right to install them those tests are skipped, by name.
$(VENV)/.system: $(VENV)/.ready Makefile
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		dpkg -s $(SYSTEM) > /dev/null 2>&1 || apt-get update -qq; \
		for each in $(SYSTEM); do \
			dpkg -s $$each > /dev/null 2>&1 || \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$each > /dev/null || \
			echo "$$each was not installed"; \
		done; \
	fi
	@touch $@

# The peers: jax and OTT, POT, GeomLoss, nnn-retrieval, and kiez, which asks for an older NumPy than it needs.
$(VENV_BENCH)/.ready: pyproject.toml requirements/bench.txt
	$(PYTHON) -m venv $(VENV_BENCH)
	$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps kiez==0.5.0
	$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV_DEMO)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV_DEMO)
	$(VENV_DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[demo,report,serve]'
	touch $@
