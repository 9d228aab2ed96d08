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
VENV_LOCK = .venv-lock
VENV_RELEASE = .venv-release
BIN = $(VENV)/bin
SCALE ?= 100
SEED ?= 0
DATA ?= ../shared/data
PIP = python -m pip install --quiet --disable-pip-version-check
SYSTEM = unicode-cldr-core texlive-latex-extra poppler-utils chromium

# Exact versions, for the Python that they were made with. Another Python gets the newest ones that pyproject.toml and
# requirements/ allow: some of the exact ones may not exist for it.
LOCKED_PYTHON = 3.11
VERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
locked = $(if $(filter $(LOCKED_PYTHON),$(VERSION)),-c requirements/$(1).lock)

.DEFAULT_GOAL := help
.PHONY: help demo demo-clipart page test attack lint format bench bench-flickr30k bench-stores bench-page bench-experiments bench-harm docs lock release clean

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

attack: $(VENV)/.ready  ## the long attack: kills, forgeries, damaged files, threads, bad requests (hours; SCALE=5: minutes)
	cd tests && ../$(BIN)/python -m attack --scale $(SCALE) --seed $(SEED)

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
	$(BIN)/python benchmarks/strategies.py

bench-page: $(VENV)/.ready  ## how quickly the page answers, and a hundred visitors at once
	$(BIN)/python benchmarks/page.py

bench-experiments: $(VENV)/.ready  ## every table and figure of an experiment with a bank of 30,000 queries (minutes)
	$(BIN)/python benchmarks/reproduction.py

bench-harm: $(VENV)/.ready  ## when a correction hurts and what the guard does: real sets x kinds of banks (DATA=folder, an hour)
	$(BIN)/python benchmarks/harm.py --data $(DATA) --first-seed 400

docs: $(VENV)/.ready  ## the documentation, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV_BENCH)/.ready  ## speed beside a matrix product and beside peers, as ratios (about half an hour)
	$(VENV_BENCH)/bin/python benchmarks/speed.py
	$(VENV_BENCH)/bin/python benchmarks/growth.py
	$(VENV_BENCH)/bin/python benchmarks/anatomy.py
	$(VENV_BENCH)/bin/python benchmarks/evaluate_all.py
	$(VENV_BENCH)/bin/python benchmarks/guard_cost.py

bench-flickr30k: $(VENV_BENCH)/.ready  ## dbsn at the size of Flickr30k's training set: minutes, 11 GB of memory
	$(VENV_BENCH)/bin/python benchmarks/flickr30k_scale.py

lock:  ## exact versions of the test and the demo environment, made anew from the newest packages
	rm -rf $(VENV_LOCK)
	$(MAKE) locked= VENV=$(VENV_LOCK) $(VENV_LOCK)/.ready
	$(call freeze,test)
	rm -rf $(VENV_LOCK)
	$(MAKE) locked= VENV_DEMO=$(VENV_LOCK) $(VENV_LOCK)/.ready
	$(call freeze,demo)
	rm -rf $(VENV_LOCK)

release: $(VENV_RELEASE)/.ready  ## sdist, wheel and their software bill of materials (CycloneDX), in dist/
	rm -rf dist
	$(VENV_RELEASE)/bin/python -m build --outdir dist .
	$(VENV_RELEASE)/bin/python scripts/bill_of_materials.py dist

clean:  ## remove environments and what was built
	rm -rf $(VENV) $(VENV_DEMO) $(VENV_BENCH) $(VENV_LOCK) $(VENV_RELEASE) site build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis

# An environment is ready once everything in it is installed; a broken install leaves no mark and is made again.
$(VENV)/.ready: pyproject.toml requirements/test.txt requirements/test.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) torch==2.13.0
	$(BIN)/$(PIP) $(call locked,test) -r requirements/test.txt
	$(BIN)/$(PIP) $(call locked,test) --no-deps 'open-clip-torch>=3'  # without CUDA's torchvision
	$(BIN)/$(PIP) $(call locked,test) -e .
	touch $@

# What tests use of the system: Unicode's tables, which one test rebuilds the emoji table from; a LaTeX with booktabs
# and multirow, which tables are set with, and pdftotext, which reads them; a browser, which opens the report and the
# page. The mark is set once all are there. Without the right to install them those tests are skipped, by name.
$(VENV)/.system: $(VENV)/.ready Makefile
	@if $(BIN)/python scripts/system_packages.py $(SYSTEM); then touch $@; fi

# The peers: jax and OTT, POT, GeomLoss, nnn-retrieval, and kiez, which asks for an older NumPy than it needs.
$(VENV_BENCH)/.ready: pyproject.toml requirements/bench.txt
	$(PYTHON) -m venv $(VENV_BENCH)
	$(VENV_BENCH)/bin/$(PIP) torch==2.13.0
	$(VENV_BENCH)/bin/$(PIP) -r requirements/bench.txt
	$(VENV_BENCH)/bin/$(PIP) --no-deps kiez==0.5.0
	$(VENV_BENCH)/bin/$(PIP) -e .
	touch $@

$(VENV_DEMO)/.ready: pyproject.toml requirements/demo.lock
	$(PYTHON) -m venv $(VENV_DEMO)
	$(VENV_DEMO)/bin/$(PIP) $(call locked,demo) -e '.[demo,report,serve]'
	touch $@

$(VENV_RELEASE)/.ready:
	$(PYTHON) -m venv $(VENV_RELEASE)
	$(VENV_RELEASE)/bin/$(PIP) build cyclonedx-bom
	touch $@

# A lock file: names and exact versions, without the suffix of a local build and without where they came from.
define freeze
@echo "# Exact versions of the $(1) environment, for Python $(VERSION) on Linux. make lock writes it, the Makefile uses it as constraints." > requirements/$(1).lock
$(VENV_LOCK)/bin/python -m pip freeze --exclude-editable | sed 's/+.*//' >> requirements/$(1).lock
endef
