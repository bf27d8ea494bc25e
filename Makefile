# Two commands: `make run` starts synthweb on this machine, `make test` proves it. The work is done in Python, in
# synthweb/local and tests; this file finds a Python and calls them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
# A shim named python3.12 may exist and still not run: each candidate has to prove that it works and has venv.
CANDIDATES = $(PYTHON) python3.11 python3.12 python3 $(wildcard $(HOME)/.pyenv/versions/3.1[12]*/bin/python3)
FITS = import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))
INSTALL = "No Python 3.11 or 3.12 with venv found. Install one (Debian and Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.12) or say where it is: make PYTHON=/path/to/python3.12"

.PHONY: help run stop reset demo-logins setup setup-tests check test faults lock sbom release audit format papers paper-A paper-B paper-C paper-E city bench bench-peers clean-venv

help: ## say what can be made
	@sed -n 's/^\([A-Za-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

run: setup ## start synthweb (web, workers, Redis) and print its address; Ctrl-C stops it
	@exec $(BIN)/python -m synthweb.local run

stop: ## stop a running synthweb from elsewhere
	@[ -x $(BIN)/python ] || { echo "synthweb has never run here."; exit 0; }; exec $(BIN)/python -m synthweb.local stop

reset: ## delete everything this installation made in var/ (asks; FORCE=1 does not)
	@[ -x $(BIN)/python ] || { echo "synthweb has never run here."; exit 0; }; exec $(BIN)/python -m synthweb.local reset $(if $(FORCE),--force)

demo-logins: ## print names and passwords of the demo users
	@[ -x $(BIN)/python ] || { echo "There are no demo users yet: make run"; exit 1; }; exec $(BIN)/python -m synthweb.local demo-logins

setup: ## make .venv alone
	@$(call environment,run)

setup-tests:
	@$(call environment,tests)

check: setup-tests ## format, lint, types, architecture, fast tests: under two minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" exec $(BIN)/python -m tests.checks

test: setup-tests ## the checks, then every test, on services that the tests start themselves
	@PATH="$(CURDIR)/$(BIN):$$PATH" exec $(BIN)/python -m tests.all $(ARGS)

faults: setup-tests ## the tests of every fault in docs/security.md (ARGS="--times 3 F16")
	@exec $(BIN)/python -m tests.faults $(ARGS)

format: setup-tests ## put code and templates into their format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix . && $(BIN)/djangofmt templates && $(BIN)/python -m tests.tones

papers: setup-tests ## check each row of docs/papers.md by the test that it names (ARGS="B C14" for some)
	@exec $(BIN)/python -m tests.papers $(ARGS)

paper-A: setup ## repeat the paper on adaptive histograms (DATA=folder with data/lodes_ri and data/text; by default ../shared)
	@exec $(BIN)/python bench/paper_a.py $(DATA)

paper-B: setup-tests ## repeat the evaluation planned for DPSyn (DATA=folder with data/ and tools/; by default ../shared)
	@exec $(BIN)/python bench/paper_b.py $(DATA)

paper-C: setup ## repeat the evaluation of On the map on commutes (DATA=folder with data/lodes_ri; by default ../shared)
	@exec $(BIN)/python bench/paper_c.py $(DATA)

paper-E: setup ## repeat the experiment on weakly constrained domains (DATA=folder with data/adult; by default ../shared)
	@exec $(BIN)/python bench/paper_e.py $(DATA)

city: setup ## make releases of example tables and a synthetic city of them: examples/city/city.yaml into build/city
	@exec $(BIN)/python bench/city.py $(ARGS)

bench: setup-tests ## accuracy and time of the methods on public tables (DATA=folder with data/ and tools/; by default ../shared)
	@exec $(BIN)/python bench/peers.py $(or $(DATA),../shared) --peer synth_engine $(ARGS)

bench-peers: setup-tests ## the same beside other synthesizers, each in an environment of its own: hours; writes docs/peers.md
	@exec $(BIN)/python bench/peers.py $(or $(DATA),../shared) --document docs/peers.md $(ARGS)

lock: ## write requirements.lock anew: the pinned packages with the hashes of their files
	@$(call tools) && build/tools/bin/pip-compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --strip-extras --allow-unsafe --output-file requirements.lock requirements.txt

sbom: ## write build/sbom.json: the packages as a bill of materials (CycloneDX), those of deploy/traces.txt as optional
	@$(call tools) && cat requirements.lock deploy/traces.txt | \
	  build/tools/bin/cyclonedx-py requirements - --of JSON -o build/sbom.json && \
	  $(BIN)/python -m tests.bill_of_materials build/sbom.json

release: setup-tests sbom ## build dist/: wheels of engine, application and client, both verifiers, the bill of materials, SHA-256 of each
	@exec $(BIN)/python -m tests.release --bill build/sbom.json $(ARGS)

audit: ## compare the packages of the lock with known vulnerabilities: needs a way to PyPI or OSV
	@$(call tools) && build/tools/bin/pip install --quiet --disable-pip-version-check pip-audit==2.10.1 && \
	  build/tools/bin/pip-audit --requirement requirements.lock --disable-pip --require-hashes $(ARGS) && \
	  build/tools/bin/pip-audit --requirement deploy/traces.txt --disable-pip --require-hashes $(ARGS)

clean-venv: ## delete .venv
	rm -rf $(VENV) $(VENV).part $(VENV).old $(VENV).lock

# tools: an environment of its own for what makes the lists of packages.
define tools
mkdir -p build && { [ -x build/tools/bin/cyclonedx-py ] || { $(BIN)/python -m venv build/tools && \
  build/tools/bin/pip install --quiet --disable-pip-version-check pip-tools==7.6.2 cyclonedx-bom==7.5.0; }; }
endef

# environment(run|tests): bring .venv up to date, with a Python that works: its own one, else one of this machine.
define environment
for candidate in $(BIN)/python $(CANDIDATES); do \
  if "$$candidate" -c '$(FITS)' >/dev/null 2>&1; then exec "$$candidate" -m synthweb.local.environment $(1); fi; \
done; echo $(INSTALL) >&2; exit 1
endef
