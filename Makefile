PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are imported; most of them never are.
INSTALL = $(BIN)/python -m pip install -q --no-compile --constraint constraints.txt --no-build-isolation

.PHONY: demo test engines check bench docs wheel lowest lock audit-deps clean

# make demo SERVE=1 shows the campaign in the browser at the end.
demo: .venv/demo
	$(BIN)/levelled demo --out demo $(if $(SERVE),--serve)

test: .venv/dev
	$(BIN)/python -m pytest -n auto --dist worksteal

# Tests of all engines, Spark among them, which takes minutes to install and needs Java.
engines: .venv/dev
	$(BIN)/python -m pip install -q 'pyspark>=4'
	LEVELLED_REQUIRE=distributed,ray,pyspark $(BIN)/python -m pytest tests/engines \
	  'tests/test_docs.py::test_the_examples_of_a_page_run_as_pasted[docs/clusters.md]' \
	  'tests/test_docs.py::test_the_examples_of_a_page_run_as_pasted[docs/spark.md]'

check: .venv/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# The pages, and parts of pages, that are made from the code and from docs/results.
docs: .venv/dev
	$(BIN)/python -m levelled_studies.manual docs
	$(BIN)/python -m levelled_studies.ledger docs
	$(BIN)/python -m levelled_studies.statements docs
	$(BIN)/python -m levelled_studies.images.page docs
	$(BIN)/python -m levelled_studies.learning.page docs
	$(BIN)/python -m levelled_studies.neighbours.page docs
	$(BIN)/python -m levelled_studies.constants docs
	$(BIN)/python -m levelled_studies.verdicts.page docs/advice.md

# Builds the wheel and uses it in an empty environment.
wheel: .venv/dev
	rm -rf build/empty dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist >/dev/null
	$(BIN)/python -m venv build/empty
	build/empty/bin/python -m pip install -q --no-compile --constraint constraints.txt dist/*.whl
	cd build && empty/bin/python -c "import levelled as lv; lv.samplers.race([1, 2, 3], 2, seed=0)"
	build/empty/bin/levelled --version

# Some tests with every direct dependency at its lower bound, in an environment of its own.
# Python 3.11, because the lower bounds have no wheels for newer ones.
lowest: .venv/dev
	rm -rf build/lowest && mkdir -p build
	$(BIN)/python .ci/lowest.py
	$(BIN)/python -m venv build/lowest
	build/lowest/bin/python -m pip install -q --no-compile --constraint build/lowest.txt \
	  -e '.[plots,sklearn,pandas,signing,postgres,remote,xlsx,web]' $(LOWEST_TOOLS)
	build/lowest/bin/python -m pytest -W ignore::DeprecationWarning -p no:cacheprovider $(LOWEST_TESTS)

LOWEST_TOOLS := pytest pytest-benchmark pytest-xdist hypothesis httpx2 duckdb pyyaml
LOWEST_TESTS := tests/reports tests/samplers/test_race.py tests/sources/test_pool.py tests/sources/test_answers.py \
  tests/learning/test_learner.py tests/learning/test_pools.py tests/metrics/test_averages.py \
  tests/campaigns/test_campaign.py tests/campaigns/test_audit.py tests/campaigns/stores/test_store.py \
  tests/cli/test_app.py tests/cli/test_creating.py tests/web/test_labelling.py

# Writes constraints.txt: the newest versions that fit together. Torch keeps the version that stands there.
lock: .venv/dev
	mkdir -p build
	$(BIN)/python -m pip install -q --dry-run --ignore-installed --report build/lock.json \
	  $$(grep ^torch== constraints.txt) hatchling editables '.[dev]'
	$(BIN)/python .ci/lock.py build/lock.json

# Looks the locked versions up in a database of known holes, with pip-audit in an environment of its own.
audit-deps: .venv/pip
	rm -rf build/audit build/audit.json && mkdir -p build
	$(BIN)/python -m venv build/audit
	-build/audit/bin/python -m pip install -q --no-compile pip-audit
	-build/audit/bin/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip \
	  --progress-spinner off --format json --output build/audit.json
	$(BIN)/python .ci/audit_deps.py

.venv/demo: .venv/pip pyproject.toml
	$(INSTALL) -e '.[plots,sklearn,web]'
	@touch $@

# Torch first and by itself: a version range would bring gigabytes that only a GPU needs.
.venv/dev: .venv/pip pyproject.toml
	$(INSTALL) torch
	$(INSTALL) -e '.[dev]'
	@touch $@ .venv/demo

.venv/pip: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Levelled needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	$(INSTALL) hatchling editables
	@touch $@

clean:
	rm -rf .venv build dist demo
