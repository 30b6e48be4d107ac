# make demo     install, and run the quickstart study (data that scikit-learn ships; no network),
#               and eight methods on its evaluations
# make test     install, and run lint, format check, type check and all tests
# make check    the same without tests marked as slow, with the contract tests of
#               examples/my_optimizer: a minute
# make ensemble  build an ensemble that predicts new rows from a table (CSV, Parquet, ARFF, Excel):
#               make ensemble DATA=customers.csv TARGET=left MINUTES=10
#               GROUP=, TIME=, FOLD= name a column that divides the rows, WEIGHT= one of weights;
#               TEST= is a file of test rows for its card; COLUMNS= sets the roles of columns,
#               POSITIVE= the class to detect, METRIC= the loss, ENSEMBLE= the name of the results
# make status   progress of all studies, one line each; of the searches of one study:
#               make status STUDY=studies/quickstart.yaml
# make why      what the next run would do, and why:  make why STUDY=studies/quickstart.yaml
# make verify   check stored results:       make verify STUDY=studies/quickstart.yaml SAMPLE=5
# make cluster-test  break things while searches run on a local SLURM cluster (as root)
# make torture  kill searches and workflows at random, and compare results; forge delivered folders:
#               make torture SEED=0 KILLS=100
# make partial  report on the results so far: make partial STUDY=studies/quickstart.yaml
# make evidence  run what a study lacks, and keep its results as one row per run in
#                evidence/<study>/runs.csv:  make evidence STUDY=studies/verdict.yaml MINUTES=120
# make reproduce  rerun a study from its manifest and compare the tables:
#                 make reproduce MANIFEST=results/quickstart/manifest.json
#               TRUST=yes: also run the code of `plugins` in the manifest
# make contract  run the contract tests on your own parts:  make contract PLUGINS=my_parts
# make schema   write schemas/study.schema.json, for editors; make demo and make test do so, too;
#               with PLUGINS=my_parts, it includes your own parts
# make docs     write the documentation as a site: site/index.html (its search needs a server:
#               python3 -m http.server -d site)
# make reference  rewrite docs/reference.md after a change in settings or their descriptions
# make record   rewrite tests/recorded/numbers.json after an intended change in its numbers
# make autogluon  install AutoGluon into .venv-autogluon, for studies that use it
# make table    write a study of predictions made elsewhere (docs/replay.md):
#               make table FROM=my_predictions OUTPUT=elsewhere METRIC=log-loss
# make table-info  check tables of evaluated configurations, and describe their content:
#                 make table-info TABLE=results/search-tables/tables
# make bench    measure the costs of searches, beside installed peers (`make peers`, `make
#               autogluon`), into evidence/performance; FIGURES= selects some of them:
#               make bench FIGURES="start replay" AGAINST=../before
# make bench-automl  compare `make ensemble` with AutoGluon and FLAML in equal CPU time, into
#               evidence/automl (after `make autogluon`, `make peers`); resumes:
#               make bench-automl REGRESSIONS=folder SPLITS=3
# make bench-search  compare searches without fitting a model: docs/optimizers.md
# make bench-peers   the same for SMAC3, OpenBox and Optuna, which `make peers` installs
# make lock     update envs/requirements.lock and envs/autogluon.lock (needs uv)

PYTHON ?= python3
# Variables of each target. A misspelt one would silently change the result. Names with _ may be of
# the environment of programs; a make that another one started gets its variables, too.
TAKES := CORES PYTHON
TAKES.demo := PLUGINS
TAKES.check := PLUGINS
TAKES.test := PLUGINS
TAKES.schema := PLUGINS
TAKES.contract := PLUGINS
TAKES.ensemble := DATA TARGET MINUTES METRIC POSITIVE GROUP TIME FOLD WEIGHT TEST COLUMNS ENSEMBLE
TAKES.status := STUDY
TAKES.why := STUDY
TAKES.partial := STUDY
TAKES.verify := STUDY SAMPLE
TAKES.evidence := STUDY MINUTES
TAKES.reproduce := MANIFEST TRUST
TAKES.torture := SEED KILLS
TAKES.cluster-test := DISASTERS PLUGINS
TAKES.table := FROM OUTPUT METRIC FOLD
TAKES.table-info := TABLE PLUGINS
TAKES.bench := FIGURES AGAINST
TAKES.bench-automl := REGRESSIONS SPLITS
OWN := $(sort $(TAKES) $(foreach goal,$(or $(MAKECMDGOALS),demo),$(TAKES.$(goal))))
ifeq ($(MAKELEVEL),0)
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
GIVEN := $(filter-out $(OWN) VENV SHELL PATH HOME TMPDIR MAKE%,$(GIVEN))
GIVEN := $(foreach name,$(GIVEN),$(if $(findstring _,$(name)),,$(subst ',,$(name))))
ifneq ($(strip $(GIVEN)),)
$(error $(strip make $(MAKECMDGOALS)) has no $(shell $(PYTHON) -c 'import difflib, sys; \
	place = sys.argv.index("/"); given, known = sys.argv[1:place], sys.argv[place + 1:]; \
	near = [difflib.get_close_matches(name.upper(), known, 1) for name in given]; \
	said = [name + " (did you mean " + n[0] + "?)" if n else name for name, n in zip(given, near)]; \
	print(" and no ".join(said) + "; its variables: " + ", ".join(known))' \
	$(foreach name,$(GIVEN),'$(name)') / $(OWN)))
endif
endif
ifeq ($(origin CORES), undefined)
CORES := $(shell getconf _NPROCESSORS_ONLN)
endif
STUDY ?= config.yaml
TABLE ?= results
GIVEN_MINUTES := $(filter command environment,$(origin MINUTES))
GIVEN_STUDY := $(filter-out file,$(origin STUDY))
MINUTES ?= 10
SAMPLE ?= 5
SPLITS ?= 1
SEED ?= 0
KILLS ?= 100
# Only accepted on the command line: some shells set them in the environment.
$(foreach name,GROUP TIME COLUMNS TEST,$(if $(filter command,$(origin $(name))),,$(eval $(name) :=)))
# Passed on literally: neither make nor the shell expands them.
LITERAL := $(sort CORES $(foreach name,$(filter TAKES.%,$(.VARIABLES)),$($(name))))
$(foreach name,$(LITERAL),$(eval override $(name) := $$(value $(name))))
# Only those of the given goals: a make that `make test` starts sees no STUDY that nobody gave.
export $(filter $(OWN),$(LITERAL))
VENV := .venv
RUN := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: demo test check lint contract ensemble status why verify torture cluster-test partial evidence reproduce record reference docs env autogluon peers table table-info bench-automl bench-search bench-peers schema format lock bench

demo: env schema
	@$(RUN) snakemake --cores "$$CORES" --quiet rules --configfile studies/quickstart.yaml
	@$(RUN) snakemake --cores "$$CORES" --quiet rules --configfile studies/quickstart-replay.yaml
	@echo "The reports are $(CURDIR)/results/quickstart/report/index.html"
	@echo "            and $(CURDIR)/results/quickstart-replay/report/index.html"

lint: env
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) snakefmt --check Snakefile rules
	$(RUN) mypy

check: lint schema
	$(RUN) OMP_NUM_THREADS=1 pytest -n 0 -m "not slow" --durations=0 --durations-min=2
	$(RUN) OMP_NUM_THREADS=1 pytest -n 0 --contract examples/my_optimizer \
		tests/optimizers/test_optimizer_contract.py

test: lint schema
	# One thread each: the tests' processes use all cores.
	$(RUN) OMP_NUM_THREADS=1 pytest -n "$$CORES" --dist loadfile --no-loadscope-reorder

contract: env
	@$(RUN) OMP_NUM_THREADS=1 pytest -n "$$CORES" --contract "$$PLUGINS" \
		tests/optimizers/test_optimizer_contract.py tests/optimizers/test_ask_tell.py \
		tests/ensembles/test_ensemble_contract.py \
		tests/spaces/test_space.py tests/surrogates/test_surrogates.py tests/metrics/test_metrics.py \
		tests/report/test_page_contract.py

ensemble: env
	@$(RUN) ENSEMBLE_SEARCH_DOOR=make python workflow_scripts/automl.py --data="$$DATA" --target="$$TARGET" \
		--minutes="$$MINUTES" --cores="$$CORES" --metric="$$METRIC" --positive="$$POSITIVE" \
		--name="$$ENSEMBLE" \
		--group="$$GROUP" --time="$$TIME" --fold="$$FOLD" --weight="$$WEIGHT" \
		--columns="$$COLUMNS" --test="$$TEST"

status: env
	@$(RUN) python workflow_scripts/status.py $(if $(GIVEN_STUDY),--study="$$STUDY")

why: env
	@$(RUN) python workflow_scripts/why.py --study="$$STUDY"

verify: env
	@$(RUN) python workflow_scripts/verify.py --study="$$STUDY" --sample="$$SAMPLE"

cluster-test: env schema
	@$(RUN) PYTHONPATH=workflow_scripts:tests python tests/cluster/disasters.py $(DISASTERS)

torture: env
	@$(RUN) PYTHONPATH=workflow_scripts:tests OMP_NUM_THREADS=1 \
		python tests/torture/searches.py --seed "$$SEED" --kills "$$KILLS"
	@$(RUN) PYTHONPATH=workflow_scripts:tests python tests/torture/workflows.py \
		--seed "$$SEED" --kills "$$KILLS" --cores "$$CORES"
	@$(RUN) PYTHONPATH=workflow_scripts:tests OMP_NUM_THREADS=1 \
		python tests/torture/folders.py --seed "$$SEED" --attacks "$${KILLS}0"

partial: env
	@$(RUN) python workflow_scripts/partial_report.py --study="$$STUDY"

# MINUTES is the time after which no further repeat starts; by default, all missing ones are done.
evidence: env
	@$(RUN) python workflow_scripts/evidence.py --study="$$STUDY" --cores="$$CORES" \
		$(if $(GIVEN_MINUTES),--minutes="$$MINUTES")

reproduce: env
	@$(RUN) python workflow_scripts/reproduce.py --cores "$$CORES" $(if $(filter yes,$(TRUST)),--trust) \
		-- "$$MANIFEST"

record: env
	$(RUN) PYTHONPATH=workflow_scripts:tests OMP_NUM_THREADS=1 python -m support.recorded_numbers

env: $(VENV)/installed

$(VENV)/installed: envs/requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Python 3.11 or 3.12 is needed; name one with: make $(MAKECMDGOALS) PYTHON=python3.11")'
	@echo "Installing into $(VENV), once; it takes a minute or two ..."
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes --requirement envs/requirements.lock
	@touch $@

schema: env
	@mkdir -p schemas
	@$(RUN) PYTHONPATH=workflow_scripts ENSEMBLE_SEARCH_PLUGINS="$$PLUGINS" \
		python -m ensemble_search.study.schema > schemas/study.schema.json

reference: env
	@$(RUN) PYTHONPATH=workflow_scripts python -m ensemble_search.study.reference > docs/reference.md

docs: .venv-docs/installed
	@PATH="$(CURDIR)/.venv-docs/bin:$$PATH" NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet
	@echo "Written: site/index.html"

.venv-docs/installed: envs/docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --requirement envs/docs.txt
	@touch $@

format: env
	$(RUN) ruff check --fix .
	$(RUN) ruff format .
	$(RUN) snakefmt Snakefile rules

autogluon: .venv-autogluon/installed

.venv-autogluon/installed: envs/autogluon.lock
	$(PYTHON) -m venv .venv-autogluon
	.venv-autogluon/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes --requirement envs/autogluon.lock
	@touch $@

PEERS := $(patsubst %,.venv-%/installed,optuna smac openbox hyperopt nevergrad flaml)

peers: $(PEERS)

# pyrfr has no wheels, so it is built, with swig from the environment.
$(PEERS): .venv-%/installed: envs/%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check swig setuptools wheel
	PATH="$(CURDIR)/.venv-$*/bin:$$PATH" .venv-$*/bin/python -m pip install --quiet \
		--disable-pip-version-check --no-build-isolation --requirement envs/$*.txt
	@touch $@

table: env
	@$(RUN) python workflow_scripts/table.py --from="$$FROM" --output="$$OUTPUT" \
		--metric="$$METRIC" --fold="$${FOLD:-0}"

table-info: env
	@$(RUN) ENSEMBLE_SEARCH_PLUGINS="$$PLUGINS" python workflow_scripts/table.py --info="$$TABLE"

bench: env
	@$(RUN) python benchmarks/suite.py $$FIGURES $(if $(AGAINST),--against "$$AGAINST")

bench-automl: env
	@$(RUN) python benchmarks/automl_peers.py --splits "$$SPLITS" \
		$(if $(REGRESSIONS),--regressions "$$REGRESSIONS")

bench-search: env
	@$(RUN) OMP_NUM_THREADS=1 python benchmarks/search_quality.py --synthetic ordinary alike \
		--tables $(wildcard results/search-tables/tables/*/fixed) \
		--evaluations 250 --jobs "$$CORES"

bench-peers: env peers
	@$(RUN) OMP_NUM_THREADS=1 python benchmarks/search_quality.py --synthetic ordinary \
		--search random bo smac openbox optuna --evaluations 100 --jobs "$$CORES"

lock:
	for name in requirements autogluon; do \
		UV_PYTHON_DOWNLOADS=never uv pip compile --quiet --universal --generate-hashes \
			--python-version 3.11 --custom-compile-command "make lock" \
			envs/$$name.in --output-file envs/$$name.lock || exit 1; \
	done
