# Every target works on a fresh clone: the first one to run makes .venv, the next ones reuse it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := ghost firmware_bridge hil
KERNELS := $(shell find ghost -name '*.pxd')

.PHONY: help fly test lint format bench golden hil soak clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 16

# Whoever has the tools may have changed a kernel.
fly: $(VENV)/.flight $(if $(wildcard $(VENV)/.dev),$(VENV)/.kernels)  ## fly a mission in simulation: take-off, a square, landing, log and report
	$(BIN)/ghost deploy sim x500 $(FLY)

test: lint  ## lint, then every test
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.kernels  ## ruff, mypy, import contracts, determinism rules
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m ghost.lint $(PACKAGES)

format: $(VENV)/.dev  ## let ruff fix and format what it can
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

bench: $(VENV)/.bench $(VENV)/.kernels  ## measure bus, log, physics and the whole stack beside their peers
	$(BIN)/python -m tests.bench $(BENCH)

golden: $(VENV)/.kernels  ## fly the canonical flights and take their hashes for golden
	$(BIN)/python -m tests.determinism.golden

# What is simulated may be armed; a bench takes ALLOW_ARMING=1 and PROPELLERS_OFF=1.
TARGET ?= embedded
hil: $(VENV)/.kernels  ## fly the safety cases on TARGET=embedded, px4, gazebo or bench (with its LINK); CASES='gps*'
	$(BIN)/python -m hil --target $(TARGET) $(if $(LINK),--link $(LINK)) \
	  $(if $(filter-out bench,$(TARGET))$(ALLOW_ARMING),--allow-arming) $(if $(PROPELLERS_OFF),--propellers-off) \
	  $(if $(CASES),--cases '$(CASES)') $(if $(OUT),--out $(OUT)) $(if $(SEED),--seed $(SEED)) $(HIL)

soak: $(VENV)/.kernels  ## fly HOURS of simulated flight in a loop under random faults, and judge every log
	$(BIN)/python -m hil.soak --hours $(or $(HOURS),1) $(SOAK)

clean:  ## remove .venv and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find ghost -name '*.so' -delete

# A stamp per extra, renewed when the dependencies change: a second run does no set-up.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.flight: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.flight
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,sim,hil,jsbsim]'
	@touch $@

$(VENV)/.kernels: $(VENV)/.dev hatch_build.py $(KERNELS) $(KERNELS:.pxd=.py)
	-@$(BIN)/python hatch_build.py > build.log 2>&1 || (tail -3 build.log; echo "no kernels: slower")
	@rm -f build.log && touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@
