# Short commands for users. Each target first does everything that it needs. The work is done by
# scripts/setup and CMake's presets, which README.md also shows.
SHELL := /bin/bash
PRESET ?= release
CMAKE_FLAGS ?=
SECONDS ?= 600
TANDEM := build/$(PRESET)/tandem
# Set-up installs CMake from PyPI where the system's is too old.
CMAKE = $(firstword $(wildcard .venv/lib/python3*/site-packages/cmake/data/bin/cmake) cmake)
CTEST = $(CMAKE:cmake=ctest)

.DEFAULT_GOAL := help
.PHONY: help setup configure build program train test lint compare check-long fuzz bench docs format clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup:  ## install what is missing: Debian packages, and LibTorch from PyPI in .venv
	@scripts/setup

configure: setup
	@$(CMAKE) --preset $(PRESET) $(CMAKE_FLAGS) $(if $(wildcard build/$(PRESET)/CMakeCache.txt),>/dev/null,)

build: export PYTHON := yes
build: configure  ## build everything into build/release (or PRESET=debug, asan, tsan)
	@$(CMAKE) --build --preset $(PRESET) --target all bench

# A broken test or benchmark cannot prevent this.
program: configure  ## build only the program
	@$(CMAKE) --build --preset $(PRESET) --target tandem

train: program  ## train the quickstart (3 minutes once built), then solve ten real cubes with it
	@out=runs/quickstart-$$(date +%Y%m%d-%H%M%S) && \
	$(TANDEM) train configs/quickstart.yaml --out $$out && \
	$(TANDEM) solve --model $$out --states data/cube3_ten.jsonl --out $$out/cube3_ten.jsonl

test: export PYTHON := yes
test: export WHEEL := yes
test: configure  ## run the tests, except the long ones; builds what they need
	@$(CMAKE) --build --preset $(PRESET)
	@$(CTEST) --preset $(PRESET)

# Set-up of each target is a step of its own, since make sets up only once for several targets.
lint:  ## check layers and formatting, and the code with clang-tidy, clangd and pyflakes
	@LINT=yes PYTHON=yes scripts/setup
	@$(CMAKE) --preset lint >/dev/null
	@python3 scripts/lint build/lint

compare: program  ## compare the modes on the same work (4 minutes), as a table and a figure
	@$(TANDEM) compare configs/compare.yaml --modes sequential,async,sync_main --seeds 1,2,3

check-long: test  ## run the long checks too (8 hours; needs root); writes build/check_long/report.md
	@PRESET=$(PRESET) scripts/check_long

fuzz:  ## fuzz each parser for SECONDS (600) of CPU time; the first time, set-up installs clang
	@FUZZ=yes scripts/setup
	@$(CMAKE) --preset fuzz $(if $(wildcard build/fuzz/CMakeCache.txt),>/dev/null,)
	@$(CMAKE) --build --preset fuzz
	@scripts/fuzz --seconds $(SECONDS)

bench: build  ## run the benchmarks
	@for bench in build/$(PRESET)/*_bench; do $$bench || exit 1; done

docs: program  ## build the documentation site in build/docs; a broken link fails
	@DOCS=yes scripts/setup
	@python3 scripts/docs $(TANDEM)

format:  ## format the sources with clang-format
	@LINT=yes scripts/setup
	@python3 scripts/lint/formatting.py --fix

clean:  ## remove build/, but keep .venv and runs/
	@rm -rf build
