# Searches that are replayed on tables, if the study has `evaluation: {replay: ...}`, and their
# ensembles. All repeats are one job, as many of them take less than a job's start.
REPEATS = range(STUDY.repeats)
TABLE = {
    repeat: STUDY.evaluation.table("{dataset}", STUDY.split_name(repeat)) for repeat in REPEATS
}


def of_repeats(pattern):
    """The pattern, below the study's results, for every repeat and its split."""
    pattern = f"{RESULTS}/{pattern}"
    return [
        pattern.replace("{split}", STUDY.split_name(r)).replace("{repeat}", str(r)) for r in REPEATS
    ]


def of_tables(name):
    """A file of every repeat's table."""
    return [f"{TABLE[repeat]}/{name}" for repeat in REPEATS]


def folders(*patterns):
    """Parameters: the patterns filled in with the wildcards."""
    return lambda w: [pattern.format(**dict(w.items())) for pattern in patterns]


rule replay:
    input:
        json=of_repeats(f"{layout.SPLIT}/split.json"),
        inputs=ancient(of_repeats(f"{layout.SPLIT}/inputs.npz")),
        tables=of_tables("table.json"),
    output:
        observations=of_repeats(f"{layout.SEARCH}/observations.parquet"),
        json=of_repeats(f"{layout.SEARCH}/search.json"),
    log:
        RESULTS / layout.log("replay", layout.REPLAY),
    benchmark:
        RESULTS / layout.benchmark("replay", layout.REPLAY)
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # Repeats are done one after the other.
        mem_mb=lambda w, input, attempt: 3000 * attempt + int(input.size_mb / STUDY.repeats),
        runtime=lambda w, attempt: 240 * attempt,
    params:
        jobs=lambda w: [JOBS.search(w.dataset, w.search, repeat) for repeat in REPEATS],
        splits=folders(*of_repeats(layout.SPLIT)),
        tables=folders(*TABLE.values()),
        checkpoints=folders(*of_repeats(layout.CHECKPOINTS)),
        folders=folders(*of_repeats(layout.SEARCH)),
        code=lambda w: JOBS.search_code(w.search),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --job {params.jobs:q} --split {params.splits:q}"
        " --table {params.tables:q} --checkpoints {params.checkpoints:q}"
        " --output {params.folders:q} 2> {log}"


rule replayed_ensemble:
    input:
        observations=of_repeats(f"{layout.SEARCH}/observations.parquet"),
        validation=of_tables("predictions-validation.npy"),
        test=of_tables("predictions-test.npy"),
        split=of_repeats(f"{layout.SPLIT}/split.json"),
        labels=ancient(of_repeats(f"{layout.SPLIT}/test_labels.npy")),
        inputs=ancient(of_repeats(f"{layout.SPLIT}/inputs.npz")),
    output:
        scores=of_repeats(f"{layout.ENSEMBLE}/scores.parquet"),
        members=of_repeats(f"{layout.ENSEMBLE}/members.parquet"),
        losses=of_repeats(f"{layout.ENSEMBLE}/losses.npz"),
        json=of_repeats(f"{layout.ENSEMBLE}/ensemble.json"),
    log:
        RESULTS / layout.log("replayed_ensemble", layout.REPLAYED_ENSEMBLE),
    benchmark:
        RESULTS / layout.benchmark("replayed_ensemble", layout.REPLAYED_ENSEMBLE)
    wildcard_constraints:
        ensemble=NOT_FITTING,
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, input, attempt: (1000 * attempt + int(2 * input.size_mb / STUDY.repeats)),
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=lambda w: JOBS.ensemble(w.ensemble),
        searches=folders(*of_repeats(layout.SEARCH)),
        splits=folders(*of_repeats(layout.SPLIT)),
        seeds=list(REPEATS),
        folders=folders(*of_repeats(layout.ENSEMBLE)),
        code=lambda w: JOBS.ensemble_code(w.ensemble),
    shell:
        "{PYTHON} {SCRIPTS:q}/ensemble.py --search {params.searches:q} --split {params.splits:q}"
        " --settings {params.settings:q} --seed {params.seeds} --output {params.folders:q} 2> {log}"
