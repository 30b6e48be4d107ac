#: Ensembles that fit pipelines anew. Their jobs are long, those of the others half a second.
FITTING = [name for name in STUDY.ensembles if TASKS.refits(name)]


def refit_arguments(w):
    """What such an ensemble is told besides. Its fits are kept, as searches keep theirs."""
    if w.ensemble not in FITTING:
        return ""
    folder = RESULTS / "checkpoints" / w.dataset / w.search / w.repeat / w.ensemble
    return f"--refits {shlex.quote(TASKS.refits(w.ensemble))} --checkpoints {folder}"


rule ensemble:
    input:
        observations=of_search(f"{SEARCH}/observations.parquet"),
        validation=of_search(f"{SEARCH}/predictions-validation.npy"),
        test=of_search(f"{SEARCH}/predictions-test.npy"),
        split=of_search(f"{SPLIT}/split.json"),
        labels=ancient(of_search(f"{SPLIT}/test_labels.npy")),
        inputs=ancient(of_search(f"{SPLIT}/inputs.npz")),
    output:
        scores=RESULTS / "ensembles/{dataset}/{search}/{ensemble}/{repeat}/scores.parquet",
        members=RESULTS / "ensembles/{dataset}/{search}/{ensemble}/{repeat}/members.parquet",
        json=RESULTS / "ensembles/{dataset}/{search}/{ensemble}/{repeat}/ensemble.json",
    log:
        RESULTS / "logs/ensemble/{dataset}/{search}/{ensemble}/{repeat}.log",
    benchmark:
        RESULTS / "benchmarks/ensemble/{dataset}/{search}/{ensemble}/{repeat}.tsv"
    wildcard_constraints:
        ensemble="|".join(re.escape(n) for n in STUDY.ensembles if n not in FITTING) or "(?!)",
    localrule: True
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda w: TASKS.ensemble(w.ensemble),
        search=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        folder=subpath(output.scores, parent=True),
        code=lambda w: TASKS.ensemble_code(w.ensemble),
        refits=refit_arguments,
    shell:
        "{PYTHON} {SCRIPTS:q}/ensemble.py --search {params.search} --split {params.split}"
        " --settings {params.settings:q} --seed {wildcards.repeat} --output {params.folder:q}"
        " {params.refits} --threads {threads} 2> {log}"


# The same with what a search gets, and on a cluster a job of its own.
if FITTING:

    use rule ensemble as fitted_ensemble with:
        wildcard_constraints:
            ensemble="|".join(map(re.escape, FITTING)),
        localrule: False
        resources:
            mem_mb=lambda w, attempt: STUDY.limits.memory_mb + 2000 * attempt,
            runtime=lambda w, attempt: 480 * attempt,
