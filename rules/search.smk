rule search:
    input:
        # The arrays go by split.json, which holds their checksum.
        json=f"{SPLIT}/split.json",
        inputs=ancient(f"{SPLIT}/inputs.npz"),
    output:
        observations="results/{study}/searches/{dataset}/{search}/{repeat}/observations.parquet",
        validation="results/{study}/searches/{dataset}/{search}/{repeat}/predictions-validation.npy",
        test="results/{study}/searches/{dataset}/{search}/{repeat}/predictions-test.npy",
        json="results/{study}/searches/{dataset}/{search}/{repeat}/search.json",
    log:
        "results/{study}/logs/search/{dataset}/{search}/{repeat}.log",
    benchmark:
        "results/{study}/benchmarks/search/{dataset}/{search}/{repeat}.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        # The worker, the optimizer's own models and a spare worker, and the data.
        mem_mb=lambda w, input, attempt: (
            TASKS_OF[w.study].study.limits.memory_mb + 2000 * attempt + int(input.size_mb)
        ),
        # Each attempt continues the one before; none asks for more than a day.
        runtime=lambda w, attempt: 480 * attempt,
    params:
        task=lambda w: TASKS_OF[w.study].search(w.dataset, w.search, w.repeat),
        split=subpath(input.json, parent=True),
        # Not an output: Snakemake deletes those, and the journal must outlive a failed job.
        checkpoints="results/{study}/checkpoints/{dataset}/{search}/{repeat}",
        folder=subpath(output.json, parent=True),
        code=lambda w: TASKS_OF[w.study].search_code(w.search),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --task {params.task:q} --split {params.split}"
        " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads}"
        ' --limits "$DIVBO_LIMITS" 2> {log}'
