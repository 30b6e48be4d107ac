# Evaluation of surrogates, where the study asks for it (`surrogates:`).
SURROGATES = (
    [
        f"{RESULTS}/surrogates/{dataset}/{surrogate}/{repeat}/quality.parquet"
        for dataset in STUDY.surrogates.datasets or STUDY.datasets
        for surrogate in STUDY.surrogates.names
        for repeat in range(STUDY.surrogates.repeats)
    ]
    if STUDY.surrogates
    else []
)


wildcard_constraints:
    surrogate="[^/]+",


rule configurations:
    input:
        json=f"{RESULTS}/splits/{{dataset}}/{STUDY.split_name(0)}/split.json",
        inputs=ancient(f"{RESULTS}/splits/{{dataset}}/{STUDY.split_name(0)}/inputs.npz"),
    output:
        observations=RESULTS / "configurations/{dataset}/observations.parquet",
        validation=RESULTS / "configurations/{dataset}/predictions-validation.npy",
        test=RESULTS / "configurations/{dataset}/predictions-test.npy",
        json=RESULTS / "configurations/{dataset}/search.json",
    log:
        RESULTS / "logs/configurations/{dataset}.log",
    benchmark:
        RESULTS / "benchmarks/configurations/{dataset}.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, input, attempt: (
            STUDY.limits.memory_mb + 1000 * attempt + int(input.size_mb)
        ),
        runtime=lambda w, attempt: 480 * attempt,
    params:
        task=lambda w: TASKS.configurations(w.dataset),
        split=subpath(input.json, parent=True),
        # The journal, as in rule search. "all" is no repeat: a search may have this name too.
        checkpoints=lambda w: RESULTS / "checkpoints" / w.dataset / "configurations/all",
        folder=subpath(output.json, parent=True),
        code=lambda w: TASKS.configurations_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --task {params.task:q} --split {params.split}"
        " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads}"
        ' --limits "$DIVBO_LIMITS" 2> {log}'


rule surrogate:
    input:
        observations=RESULTS / "configurations/{dataset}/observations.parquet",
        validation=RESULTS / "configurations/{dataset}/predictions-validation.npy",
    output:
        RESULTS / "surrogates/{dataset}/{surrogate}/{repeat}/quality.parquet",
    log:
        RESULTS / "logs/surrogate/{dataset}/{surrogate}/{repeat}.log",
    benchmark:
        RESULTS / "benchmarks/surrogate/{dataset}/{surrogate}/{repeat}.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 3000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        task=lambda w: TASKS.surrogate(w.surrogate, w.repeat),
        configurations=subpath(input.observations, parent=True),
        code=lambda w: TASKS.surrogate_code(w.surrogate),
    shell:
        "{PYTHON} {SCRIPTS:q}/surrogate.py --task {params.task:q}"
        " --configurations {params.configurations} --output {output:q} 2> {log}"
