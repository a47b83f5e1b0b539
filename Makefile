# One target for each task. No target needs apt. If a program is missing, the message names it and the package that has it.
#
#   make run      set up, reproduce the study with three seeds, say where the report is      (SEEDS=3 JOBS=2 OUT=runs/...)
#   make study    the same with ten seeds, which the study's rules require; the runs of `make run` are not repeated   (STUDY=cablelabs2012)
#   make test     Rust and Python tests
#   make check    formats, lints, types, layers, documentation, then test (CI runs more: .ci/run)
#   make bench    ns, instructions and bytes against the floor; beside ns-2 and ns-3 where they are installed
#   make playground  build the playground, for `bloatlab play` (needs Node and Rust's target wasm32-unknown-unknown)
#   make fuzz     fuzz every input, coverage-guided, ten minutes each              (TIME=600 or ROUNDS=10, SEED=1 JOBS=2)
#   make fuzz-million  a million generated scenarios through resolve and build, a hundred thousand through a short run
#   make forks    clone a thousand random scenarios in mid-run: each clone must end like a run without a pause; so must runs that
#                 share their past
#   make transports  test quinn-proto, smoltcp and aioquic behind our queues (examples/transports, with dependencies of its own)
#   make train    train agents in the environments of bloatlab.gym, and judge them     (5 GB of packages; TASK=aqm STEPS=100000)
#   make least-rust  compile everything with the oldest Rust that Cargo.toml names        (needs that toolchain)
#   make miri     run the tests of crates with `unsafe` in Miri                          (needs a nightly with miri)
#   make prose    list sentences to write more plainly, citations without a source, lines that are too wide
#   make dependencies  licences, advisories and origins of all crates                     (needs cargo-deny)
#   make live-torture  disturb live runs, and check that the host is unchanged after each  (root, TUN; N=100 SEED=1)
#   make venv     only set up: .venv with the package (editable) and the command .venv/bin/bloatlab
#   make wheel    a wheel for any Linux of glibc 2.17 or newer, and an sdist, in dist/           (docs/install.md)
#   make release  wheels for x86-64 and ARM, glibc and musl, the sdist, SBOM, notes and checksums, in dist/   (TARGETS=...)
#   make test-wheel  install the wheel in an empty environment of every Python on this machine, and run README's commands
#   make docs     write docs/scenario.md, docs/scenario/ and the tables of docs/results.md from what the core declares, and the
#                 tables of docs/classroom.md from runs
#   make judge    judge all controllers by all suites, in runs/judge, which `make site` then includes   (docs/judge.md)
#   make site     the docs as a site, in target/site/html: studies with their answers, a page per discipline, the playground if it is
#                 built                              (studies without a run are run with one seed; STUDIES= for none)
#   make format   write the formats that `make check` demands
#   make lock     pin Python's requirements again
#   make clean    remove everything that these targets make, except runs/

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STUDY ?= cablelabs2012
STUDIES ?= cablelabs2012 scte2013 mmcn1999 csc458 l4s today
SEEDS ?= 3
OUT ?= runs/$(STUDY)
N ?= 100
SEED ?= 1
TIME ?= 600
UV_VERSION := 0.13.8

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A leftover PYTHONPATH must not shadow the package. With PYTHONDONTWRITEBYTECODE, every process would spend two seconds compiling the
# modules that it imports.
unexport PYTHONPATH PYTHONDONTWRITEBYTECODE

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
# --no-deps: the files in requirements/ list every package with its hashes, so pip has nothing to resolve. --no-compile: Python compiles
# a module when it is first imported, and most modules of scipy and matplotlib are never imported.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --require-hashes --no-deps --no-compile

.PHONY: help run judge study test rust-tests test-rust test-python test-rust-behind test-alone test-beside check check-rust check-python bench playground fuzz fuzz-million forks least-rust miri transports transports-rust transports-python train dependencies prose live-torture venv wheel release test-wheel docs site format lock clean

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

# ---------------------------------------------------------------------------------------------------- set up, by stamps

$(BIN)/python:
	@tools/preflight.sh $(PYTHON) python rust
	@$(PYTHON) -m venv $(VENV)

# Prints what a step does and how long it usually takes on two cores, runs it, and prints how long it took.
STEP = step() { what=$$1; echo "$$what: $$2"; shift 2; begun=$$(date +%s); "$$@" || exit 1; echo "$$what: done in $$(($$(date +%s) - begun)) s"; }; step

$(VENV)/.run-stamp: requirements/run.txt | $(BIN)/python
	@$(STEP) "Python's packages" "half a minute" $(PIP_INSTALL) -r requirements/run.txt
	@touch $@

$(VENV)/.dev-stamp: requirements/dev.txt $(VENV)/.run-stamp
	$(PIP_INSTALL) -r requirements/dev.txt
	@touch $@

# The linters, for `make check` and `make format`. The type checker includes Node.js: 280 MB on disk.
$(VENV)/.lint-stamp: requirements/lint.txt $(VENV)/.dev-stamp
	$(PIP_INSTALL) -r requirements/lint.txt
	@touch $@

# Builds bloatlab._core in release mode and installs the package as editable, so that changes to Python code need no rebuild.
$(VENV)/.core-stamp: $(RUST_SOURCES) pyproject.toml $(VENV)/.run-stamp
	@tools/preflight.sh $(BIN)/python rust
	@$(STEP) "the simulator" "a minute or two the first time" env MAKEFLAGS= PATH="$(abspath $(BIN)):$$PATH" \
		$(BIN)/python -m pip install --quiet --no-deps --no-index --no-build-isolation -e .
	@touch $@

venv: $(VENV)/.core-stamp
	@echo "ready: $(BIN)/bloatlab --help"

# ----------------------------------------------------------------------------------------------------------- the targets

run: $(VENV)/.core-stamp
	@# exit code 1 means that too few values are within tolerance (docs/validation.md). That is a result, not a failure of `make run`
	@$(BIN)/bloatlab reproduce $(STUDY) --seeds $(SEEDS) -o $(OUT) $(if $(JOBS),--jobs $(JOBS)) || [ $$? -eq 1 ]

study:
	@$(MAKE) --no-print-directory run SEEDS=10

# The steps of the set-up run in parallel: the installation of packages and the last step of the simulator's build use only one
# core, so Rust's tests are compiled on the other. Then come the tests that run against the clock, and which need the machine for
# themselves. The other tests in Python often wait, so Rust's tests run beside them; their output appears when they end.
test:
	@$(MAKE) --no-print-directory -j3 rust-tests $(VENV)/.core-stamp $(VENV)/.dev-stamp
	@failed=0; $(MAKE) --no-print-directory test-alone || failed=2; \
	$(MAKE) --no-print-directory -j2 --keep-going test-rust-behind test-beside || failed=2; exit $$failed

rust-tests:
	@tools/preflight.sh $(PYTHON) rust
	@$(STEP) "Rust's tests, compiled" "3 minutes the first time" \
		env MAKEFLAGS= cargo test --workspace --exclude bloatlab-py --locked --quiet --no-run

test-rust:
	@tools/preflight.sh $(PYTHON) rust
	env MAKEFLAGS= cargo test --workspace --exclude bloatlab-py --locked --quiet --no-fail-fast

# The same, with all output at the end.
test-rust-behind:
	@output=$$($(MAKE) --no-print-directory test-rust 2>&1); code=$$?; printf '%s\n' "$$output"; exit $$code

test-python: test-alone test-beside

test-alone: $(VENV)/.core-stamp $(VENV)/.dev-stamp
	$(BIN)/python -m pytest -m alone

test-beside: $(VENV)/.core-stamp $(VENV)/.dev-stamp
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not alone"

# The tests run last even with -j, because CI reads the last lines of the test runners.
check: check-rust check-python
	@$(MAKE) --no-print-directory test

check-rust: | $(BIN)/python
	@tools/preflight.sh $(PYTHON) rust lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo clippy -p bloatlab-py --no-default-features --locked --quiet -- -D warnings
	cargo clippy --manifest-path examples/transports/Cargo.toml --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet
	$(BIN)/python tools/layers.py

check-python: $(VENV)/.core-stamp $(VENV)/.lint-stamp
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/prose.py
	@git ls-files $(SPELLED) | xargs $(BIN)/codespell

transports: transports-rust transports-python

# A separate workspace, because the core needs none of its dependencies.
transports-rust:
	@tools/preflight.sh $(PYTHON) rust
	cd examples/transports && cargo fmt --check && env MAKEFLAGS= cargo test --locked --quiet

AIOQUIC := target/aioquic

# A folder of its own keeps aioquic's packages out of the environment of all other tests.
$(AIOQUIC)/.stamp: requirements/aioquic.txt $(VENV)/.run-stamp
	@rm -rf $(AIOQUIC)
	$(PIP_INSTALL) --target $(AIOQUIC) -r requirements/aioquic.txt
	@touch $@

transports-python: $(VENV)/.core-stamp $(VENV)/.dev-stamp $(AIOQUIC)/.stamp
	PYTHONPATH=$(abspath $(AIOQUIC)) $(BIN)/python -m pytest -q examples/transports/aioquic

SB3 := target/sb3
TASK ?= congestion-control aqm

$(SB3)/.stamp: requirements/sb3.txt $(VENV)/.run-stamp
	@rm -rf $(SB3)
	@$(STEP) "Stable-Baselines3 and torch, 5 GB" "5 minutes" $(PIP_INSTALL) --target $(SB3) -r requirements/sb3.txt
	@touch $@

train: $(VENV)/.core-stamp $(SB3)/.stamp
	@for task in $(TASK); do OMP_NUM_THREADS=1 PYTHONPATH=$(abspath $(SB3)) \
		$(BIN)/python examples/gym/train.py $$task $(if $(STEPS),--steps $(STEPS)) || exit 1; done

bench:
	@tools/preflight.sh $(PYTHON) rust
	cargo build --release --locked --quiet -p bloatlab-speed
	$(PYTHON) tools/bench.py
	target/release/qdiscs
	@[ ! -x $(BIN)/python ] || $(BIN)/python tools/bench_playground.py

# ------------------------------------------------------------------------------------------------------- the playground

WASM := target/wasm32-unknown-unknown/web/bloatlab_web.wasm
PLAYGROUND := python/bloatlab/playground/index.html

web/node_modules/.stamp: web/package.json web/package-lock.json
	cd web && npm ci --ignore-scripts --silent
	@touch $@

playground: $(VENV)/.core-stamp
	@tools/preflight.sh $(BIN)/python rust web
	@$(MAKE) --no-print-directory web/node_modules/.stamp
	@$(STEP) "the simulator for the browser" "2 minutes the first time" \
		cargo build --profile web -p bloatlab-web --target wasm32-unknown-unknown --locked --quiet
	$(BIN)/python tools/playground_presets.py web/generated/presets.json
	cd web && npm run --silent check && node build.mjs ../$(WASM) generated/presets.json ../$(PLAYGROUND)

# Flags that make the stable compiler insert coverage counters. --target keeps the counters out of build scripts, and --target-dir
# keeps them out of all other builds.
COUNTERS := -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3 \
	-C llvm-args=-sanitizer-coverage-inline-8bit-counters
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

fuzz: $(VENV)/.core-stamp
	@tools/preflight.sh $(PYTHON) rust
	$(BIN)/python tests/fuzz/inputs.py --count $(if $(ROUNDS),$(ROUNDS)00,20000) --seed $(SEED)
	RUSTFLAGS="$(COUNTERS)" cargo build --profile fuzz --locked --quiet -p bloatlab-fuzz --target $(HOST) --target-dir target/coverage
	target/coverage/$(HOST)/fuzz/fuzz all $(if $(ROUNDS),--rounds $(ROUNDS),--time $(TIME)) --seed $(SEED) $(if $(JOBS),--jobs $(JOBS)) --grown target/grown

fuzz-million:
	@tools/preflight.sh $(PYTHON) rust
	cargo build --profile fuzz --locked --quiet -p bloatlab-fuzz
	target/fuzz/fuzz build --count 1000000 --seed $(SEED)
	target/fuzz/fuzz scenario --count 100000 --seed $(SEED)

forks:
	@tools/preflight.sh $(PYTHON) rust
	BLOATLAB_FORKS=1000 cargo test --release --locked --quiet -p bloatlab-fuzz --test it -- --nocapture fork:: past::

least-rust:
	cargo +$(LEAST_RUST) check --workspace --all-targets --locked

# The other crates with `unsafe` call the kernel (live, and sim for memory), which Miri cannot do. The skipped test draws 200 000
# numbers, which takes too long in Miri.
miri:
	cargo +nightly miri test --locked -p bloatlab-units -- --skip moments_of_the_distributions

# Files whose spelling codespell checks, including comments and the texts of the user interface.
SPELLED := '*.md' '*.py' '*.rs' '*.ts' '*.toml' '*.html' '*.css' '*.sh' Makefile

prose:
	@$(PYTHON) tools/prose.py

dependencies:
	cargo deny --locked check
	cargo deny --locked --manifest-path examples/transports/Cargo.toml --config deny.toml check

LEAST_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

live-torture: $(VENV)/.core-stamp
	$(BIN)/python tools/live_torture.py -n $(N) --seed $(SEED)

# ------------------------------------------------------------------------------------------------------------ to install

TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl

$(VENV)/.wheel-stamp: requirements/wheel.txt | $(BIN)/python
	$(PIP_INSTALL) -r requirements/wheel.txt
	@touch $@

wheel: $(VENV)/.wheel-stamp
	@tools/preflight.sh $(BIN)/python rust
	@echo "building the wheel and the sdist: some 6 minutes on two cores"
	@$(BIN)/python tools/release.py dist $(HOST)

release:
	@tools/preflight.sh $(PYTHON) python rust web $(TARGETS)
	@$(MAKE) --no-print-directory $(VENV)/.wheel-stamp playground
	@echo "building a wheel for each of $(words $(TARGETS)) targets, and the sdist: some 6 minutes each on two cores"
	@$(BIN)/python tools/release.py dist $(TARGETS)

test-wheel: $(VENV)/.core-stamp $(VENV)/.dev-stamp
	@ls dist/*.whl dist/*.tar.gz >/dev/null || { echo "make wheel comes first" >&2; exit 1; }
	BLOATLAB_DIST=$(abspath dist) $(BIN)/python -m pytest tests/python/test_wheel.py

docs: $(VENV)/.core-stamp
	$(BIN)/python tools/scenario_doc.py
	$(BIN)/python tools/results_doc.py
	@$(STEP) "the answers for teachers" "10 s" $(BIN)/python tools/classroom_doc.py

# Exit code 1 means that a controller misses a criterion. That is a result, not a failure of `make judge`.
judge: $(VENV)/.core-stamp
	@$(BIN)/bloatlab judge --suite all --cc all --out runs/judge $(if $(JOBS),--jobs $(JOBS)) || [ $$? -eq 1 ]

# A study's page begins with the answer of the run in runs/; a study without a run is run with one seed.
site: $(VENV)/.core-stamp $(VENV)/.dev-stamp
	@echo "running the studies that have no run yet, with one seed: up to 5 minutes of CPU time"
	@for study in $(STUDIES); do test -f runs/$$study/report.html || \
		$(MAKE) --no-print-directory run STUDY=$$study SEEDS=1 OUT=runs/$$study || exit 1; done
	@test -f $(PLAYGROUND) || ! tools/preflight.sh $(BIN)/python rust web || $(MAKE) --no-print-directory playground
	@echo "building the site: a minute or two"
	$(BIN)/python tools/docs_site.py target/site --runs runs --playground $(PLAYGROUND)
	$(BIN)/zensical build --strict --config-file target/site/site.yml
	@echo "the site: target/site/html/index.html"

format: $(VENV)/.lint-stamp
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lock: $(VENV)/.dev-stamp
	$(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	$(BIN)/uv pip compile pyproject.toml --group build --group dev $(LOCK) -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml --group build -c requirements/dev.txt $(LOCK) -o requirements/run.txt
	$(BIN)/uv pip compile --group pyproject.toml:lint -c requirements/dev.txt $(LOCK) -o requirements/lint.txt
	$(BIN)/uv pip compile --group pyproject.toml:wheel $(LOCK) -o requirements/wheel.txt
	$(BIN)/uv pip compile --group pyproject.toml:flent $(LOCK) -o requirements/flent.txt
	$(BIN)/uv pip compile --group pyproject.toml:aioquic $(LOCK) -o requirements/aioquic.txt
	$(BIN)/uv pip compile --group pyproject.toml:sb3 -c requirements/dev.txt $(LOCK) -o requirements/sb3.txt

# The files in requirements/ list hashes for every platform. They name no package index, because each machine sets its own.
LOCK := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet

clean:
	rm -rf $(VENV) target dist .pytest_cache .ruff_cache .hypothesis python/bloatlab/*.so
	rm -rf web/node_modules web/generated python/bloatlab/playground
	find python tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
