# Evaluation of surrogates, if the study has the key `surrogates:`.
SURROGATES = (
    [
        layout.path(RESULTS, layout.SURROGATE, dataset=dataset, surrogate=surrogate, repeat=repeat)
        / "quality.parquet"
        for dataset in STUDY.surrogates.datasets or STUDY.datasets
        for surrogate in STUDY.surrogates.names
        for repeat in range(STUDY.surrogates.repeats)
    ]
    if STUDY.surrogates
    else []
)
# Surrogates are evaluated on random configurations of their own, or on those of a table.
CONFIGURATIONS = layout.configurations(RESULTS, STUDY.model_dump(), "{dataset}")


wildcard_constraints:
    surrogate="[^/]+",


rule configurations:
    input:
        json=f"{SPLIT_0}/split.json",
        inputs=ancient(f"{SPLIT_0}/inputs.npz"),
    output:
        observations=RESULTS / layout.CONFIGURATIONS / "observations.parquet",
        validation=RESULTS / layout.CONFIGURATIONS / "predictions-validation.npy",
        test=RESULTS / layout.CONFIGURATIONS / "predictions-test.npy",
        json=RESULTS / layout.CONFIGURATIONS / "search.json",
    log:
        RESULTS / layout.log("configurations", layout.CONFIGURATIONS),
    benchmark:
        RESULTS / layout.benchmark("configurations", layout.CONFIGURATIONS)
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, input, attempt: (
            STUDY.limits.memory_mb + 1000 * attempt + int(input.size_mb)
        ),
        runtime=lambda w, attempt: 480 * attempt,
    params:
        job=lambda w: JOBS.configurations(w.dataset),
        split=subpath(input.json, parent=True),
        checkpoints=f"{RESULTS}/{layout.CONFIGURATIONS_CHECKPOINTS}",
        folder=subpath(output.json, parent=True),
        code=lambda w: JOBS.configurations_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --job {params.job:q} --split {params.split}"
        " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads} {SHARE}"
        " 2> {log}"


rule surrogate:
    input:
        observations=CONFIGURATIONS / "observations.parquet",
        validation=CONFIGURATIONS / "predictions-validation.npy",
        split=f"{SPLIT_0}/split.json",
    output:
        RESULTS / layout.SURROGATE / "quality.parquet",
    log:
        RESULTS / layout.log("surrogate", layout.SURROGATE),
    benchmark:
        RESULTS / layout.benchmark("surrogate", layout.SURROGATE)
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 3000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        job=lambda w: JOBS.surrogate(w.surrogate, w.repeat),
        configurations=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        code=lambda w: JOBS.surrogate_code(w.surrogate),
    shell:
        "{PYTHON} {SCRIPTS:q}/surrogate.py --job {params.job:q}"
        " --configurations {params.configurations} --split {params.split} --output {output:q} 2> {log}"
