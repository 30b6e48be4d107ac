rule search:
    input:
        # The arrays go by split.json, which holds their checksum.
        json=lambda w: split_folder(w) / "split.json",
        inputs=lambda w: ancient(split_folder(w) / "inputs.npz"),
    output:
        observations=RESULTS / "searches/{dataset}/{search}/{repeat}/observations.parquet",
        validation=RESULTS / "searches/{dataset}/{search}/{repeat}/predictions-validation.npy",
        test=RESULTS / "searches/{dataset}/{search}/{repeat}/predictions-test.npy",
        json=RESULTS / "searches/{dataset}/{search}/{repeat}/search.json",
    log:
        RESULTS / "logs/search/{dataset}/{search}/{repeat}.log",
    benchmark:
        RESULTS / "benchmarks/search/{dataset}/{search}/{repeat}.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        # The worker, and the optimizer's own models.
        mem_mb=lambda w: STUDY.limits.memory_mb + 2000,
        runtime=lambda w, attempt: 1440 * attempt,
    params:
        task=lambda w: TASKS.search(w.dataset, w.search, w.repeat),
        split=subpath(input.json, parent=True),
        # Not an output: Snakemake deletes those, and the journal must outlive a failed job.
        checkpoints=lambda w: RESULTS / "checkpoints" / w.dataset / w.search / w.repeat,
        folder=subpath(output.json, parent=True),
        code=lambda w: TASKS.search_code(w.search),
    shell:
        # exec: the search is Snakemake's own child, and ends with it.
        "exec {PYTHON} {SCRIPTS:q}/search.py --task {params.task:q} --split {params.split}"
        " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads}"
        " --end-with-parent 2> {log}"
