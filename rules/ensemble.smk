def refit_arguments(w):
    """Further arguments for ensembles that refit pipelines; fits are stored as in searches."""
    if w.ensemble not in FITTING:
        return ""
    folder = layout.path(RESULTS, layout.FITS, **dict(w.items()))
    return f"--refits {shlex.quote(JOBS.refits(w.ensemble))} --checkpoints {folder}"


rule ensemble:
    input:
        observations=of_search(f"{SEARCH}/observations.parquet"),
        validation=of_search(f"{PREDICTIONS}/predictions-validation.npy"),
        test=of_search(f"{PREDICTIONS}/predictions-test.npy"),
        split=of_search(f"{SPLIT}/split.json"),
        labels=ancient(of_search(f"{SPLIT}/test_labels.npy")),
        inputs=ancient(of_search(f"{SPLIT}/inputs.npz")),
    output:
        scores=RESULTS / layout.ENSEMBLE / "scores.parquet",
        members=RESULTS / layout.ENSEMBLE / "members.parquet",
        losses=RESULTS / layout.ENSEMBLE / "losses.npz",
        json=RESULTS / layout.ENSEMBLE / "ensemble.json",
    log:
        RESULTS / layout.log("ensemble", layout.ENSEMBLE),
    benchmark:
        RESULTS / layout.benchmark("ensemble", layout.ENSEMBLE)
    wildcard_constraints:
        ensemble="(?!)" if STUDY.evaluation.replay else NOT_FITTING,
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # Predictions, and an ordered copy of them.
        mem_mb=lambda w, input, attempt: 1000 * attempt + int(2 * input.size_mb),
        runtime=lambda w, attempt: 30 * attempt,
    params:
        settings=lambda w: JOBS.ensemble(w.ensemble),
        of=lambda w: JOBS.of(w.dataset, w.search),
        search=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        folder=subpath(output.scores, parent=True),
        code=lambda w: JOBS.ensemble_code(w.ensemble),
        refits=refit_arguments,
    shell:
        "{PYTHON} {SCRIPTS:q}/ensemble.py --of {params.of:q} --search {params.search}"
        " --split {params.split}"
        " --settings {params.settings:q} --seed {wildcards.repeat} --output {params.folder:q}"
        " {params.refits} --threads {threads} 2> {log}"


# The same for ensembles that refit, with the resources of a search, and as a cluster job.
if FITTING:

    use rule ensemble as fitted_ensemble with:
        wildcard_constraints:
            ensemble="|".join(map(re.escape, FITTING)),
        localrule: False
        resources:
            mem_mb=lambda w, input, attempt: (
                STUDY.limits.memory_mb + 2000 * attempt + int(2 * input.size_mb)
            ),
            runtime=lambda w, attempt: 480 * attempt,
