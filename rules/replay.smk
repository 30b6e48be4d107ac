# Searches that are replayed on tables, if the study has `evaluation: {replay: ...}`, and their
# ensembles. A job does ten repeats whose numbers differ only in the last digit, because starting a
# job often takes longer than a repeat. The wildcard `tens` is the number without this digit.
LAST = STUDY.repeats % 10
LAST_TENS = str(STUDY.repeats)[:-1]


def of_ten(pattern, digits=10):
    """Outputs: the pattern, below the study's results, for ten repeats or fewer."""
    return [f"{RESULTS}/{pattern}".replace("{repeat}", f"{{tens}}{d}") for d in range(digits)]


def repeats(w):
    """The repeats of a job."""
    first = 10 * int(w.tens or 0)
    return range(first, min(first + 10, STUDY.repeats))


def of_splits(pattern):
    """Inputs or parameters: the pattern for each repeat's split; only one if all are the same."""

    def filled(w):
        splits = [STUDY.split_name(repeat) for repeat in repeats(w)]
        splits = splits if len(set(splits)) > 1 else splits[:1]
        return [pattern.format(split=split, **dict(w.items())) for split in splits]

    return filled


def of_repeats(pattern):
    """Inputs: the pattern, below the study's results, for every repeat."""
    return lambda w: [
        f"{RESULTS}/{pattern}".format(repeat=r, **dict(w.items())) for r in repeats(w)
    ]


def every(pattern, name="{repeat}"):
    """Parameter: the pattern, below the study's results, with the repeat left for the script."""
    return lambda w: f"{RESULTS}/{pattern}".format(repeat=name, **dict(w.items()))


# If the last repeats are fewer than ten, their outputs belong to another rule.
TENS = r"([1-9]\d*)?"
FULL = rf"(?!{LAST_TENS}\d/){TENS}" if LAST else TENS


rule replay:
    input:
        json=of_splits(f"{RESULTS}/{layout.SPLIT}/split.json"),
        inputs=ancient(of_splits(f"{RESULTS}/{layout.SPLIT}/inputs.npz")),
        tables=of_splits(f"{PREDICTIONS}/table.json"),
    output:
        observations=of_ten(f"{layout.SEARCH}/observations.parquet"),
        json=of_ten(f"{layout.SEARCH}/search.json"),
    log:
        RESULTS / layout.log("replay", layout.REPLAY),
    benchmark:
        RESULTS / layout.benchmark("replay", layout.REPLAY)
    wildcard_constraints:
        tens=FULL,
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # Repeats run one after another, on tables that stay memory-mapped.
        mem_mb=lambda w, input, attempt: 3000 * attempt + int(input.size_mb),
        runtime=lambda w, attempt: 240 * attempt,
    params:
        job=lambda w: JOBS.replay(w.dataset, w.search, repeats(w)),
        splits=of_splits(f"{RESULTS}/{layout.SPLIT}"),
        tables=of_splits(PREDICTIONS),
        checkpoints=every(layout.CHECKPOINTS),
        folder=every(layout.SEARCH),
        code=lambda w: JOBS.search_code(w.search),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --job {params.job:q} --split {params.splits:q}"
        " --table {params.tables:q} --checkpoints {params.checkpoints:q}"
        " --output {params.folder:q} 2> {log}"


rule replayed_ensemble:
    input:
        observations=of_repeats(f"{layout.SEARCH}/observations.parquet"),
        validation=of_splits(f"{PREDICTIONS}/predictions-validation.npy"),
        test=of_splits(f"{PREDICTIONS}/predictions-test.npy"),
        split=of_splits(f"{RESULTS}/{layout.SPLIT}/split.json"),
        labels=ancient(of_splits(f"{RESULTS}/{layout.SPLIT}/test_labels.npy")),
        inputs=ancient(of_splits(f"{RESULTS}/{layout.SPLIT}/inputs.npz")),
    output:
        scores=of_ten(f"{layout.ENSEMBLE}/scores.parquet"),
        members=of_ten(f"{layout.ENSEMBLE}/members.parquet"),
        losses=of_ten(f"{layout.ENSEMBLE}/losses.npz"),
        json=of_ten(f"{layout.ENSEMBLE}/ensemble.json"),
    log:
        RESULTS / layout.log("replayed_ensemble", layout.REPLAYED_ENSEMBLE),
    benchmark:
        RESULTS / layout.benchmark("replayed_ensemble", layout.REPLAYED_ENSEMBLE)
    wildcard_constraints:
        ensemble=NOT_FITTING,
        tens=FULL,
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, input, attempt: (1000 * attempt + int(2 * input.size_mb / STUDY.repeats)),
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=lambda w: JOBS.ensemble(w.ensemble),
        of=lambda w: JOBS.of(w.dataset, w.search),
        searches=every(layout.SEARCH, "{seed}"),
        splits=of_splits(f"{RESULTS}/{layout.SPLIT}"),
        seeds=lambda w: list(repeats(w)),
        folder=every(layout.ENSEMBLE, "{seed}"),
        code=lambda w: JOBS.ensemble_code(w.ensemble),
    shell:
        "{PYTHON} {SCRIPTS:q}/ensemble.py --of {params.of:q} --search {params.searches:q}"
        " --split {params.splits:q} --settings {params.settings:q} --seed {params.seeds} --output {params.folder:q} 2> {log}"


# The last repeats, if they are fewer than ten.
if LAST:

    use rule replay as last_replay with:
        output:
            observations=of_ten(f"{layout.SEARCH}/observations.parquet", LAST),
            json=of_ten(f"{layout.SEARCH}/search.json", LAST),
        wildcard_constraints:
            tens=f"(?:{LAST_TENS})",

    use rule replayed_ensemble as last_replayed_ensemble with:
        output:
            scores=of_ten(f"{layout.ENSEMBLE}/scores.parquet", LAST),
            members=of_ten(f"{layout.ENSEMBLE}/members.parquet", LAST),
            losses=of_ten(f"{layout.ENSEMBLE}/losses.npz", LAST),
            json=of_ten(f"{layout.ENSEMBLE}/ensemble.json", LAST),
        wildcard_constraints:
            ensemble=NOT_FITTING,
            tens=f"(?:{LAST_TENS})",
