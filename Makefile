# Two commands matter: `make demo` shows the product at work, `make check` verifies it. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
export PYTHONPATH := plugins:probe:.
STAMP  := $(VENV)/.installed
UV     := 0.13.9

.PHONY: setup demo down check check-long format lock docs screenshot bench

setup: $(STAMP)

# uv installs the locked set in a fraction of pip's time and compiles it: uncompiled, every Airflow process pays seconds.
$(STAMP): requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet "uv==$(UV)"
	env -u PYTHONDONTWRITEBYTECODE $(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(PY) -r requirements.txt \
	  || env -u PYTHONDONTWRITEBYTECODE $(PY) -m pip install --quiet -r requirements.txt
	env -u PYTHONDONTWRITEBYTECODE $(PY) -m compileall -q plugins lab probe stack
	touch $(STAMP)

demo: setup
	@$(PY) -m stack demo $(if $(DETACH),--detach)

down:
	@if [ -x $(PY) ]; then $(PY) -m stack down; fi

# In the order of what fails fastest; the end-to-end tests last, alone, because they fill the machine.
check: setup
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy -p nodeworthy -p lab -p stack -p nodeworthy_probe
	$(PY) -m pytest -m "not long" -n 2 --dist loadfile --ignore tests/end_to_end -q tests
	$(PY) -m pytest -m "not long" -q tests/end_to_end

check-long: setup
	$(PY) -m pytest -m "long or not long" --timeout 7200 tests

format: setup
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

docs: setup
	$(PY) -m nodeworthy documents
	$(PY) -m benchmarks document

screenshot: setup
	$(PY) -m stack.screenshot

bench: setup
	$(PY) -m benchmarks

lock: setup
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --custom-compile-command "make lock" requirements.in -o requirements.txt
