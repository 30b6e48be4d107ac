rule search:
    input:
        # split.json has the checksum of the arrays.
        json=of_repeat(f"{SPLIT}/split.json"),
        inputs=ancient(of_repeat(f"{SPLIT}/inputs.npz")),
        table=WARM_START,
    output:
        observations=f"{SEARCH}/observations.parquet",
        validation=f"{SEARCH}/predictions-validation.npy",
        test=f"{SEARCH}/predictions-test.npy",
        json=f"{SEARCH}/search.json",
    log:
        f"{ROOT}/{{study}}/{layout.log('search', layout.SEARCH)}",
    benchmark:
        f"{ROOT}/{{study}}/{layout.benchmark('search', layout.SEARCH)}"
    conda:
        "../envs/ensemble-search.yaml"
    # One per worker; additional threads (`--set-threads search=`) are for the learners.
    threads: STUDY.workers
    resources:
        # The workers, the optimizer's models, spare workers, and the data.
        mem_mb=lambda w, input, attempt: (
            (JOBS_OF[w.study].study.limits.memory_mb + 1000) * STUDY.workers
            + 2000 * attempt
            - 1000
            + int(input.size_mb)
        ),
        # Each attempt resumes the previous one; at most a day.
        runtime=lambda w, attempt: 480 * attempt,
    params:
        job=lambda w: JOBS_OF[w.study].search(w.dataset, w.search, w.repeat),
        split=subpath(input.json, parent=True),
        # Not an output: Snakemake deletes outputs, and the journal must survive a failed job.
        checkpoints=f"{ROOT}/{{study}}/{layout.CHECKPOINTS}",
        folder=subpath(output.json, parent=True),
        code=lambda w: JOBS_OF[w.study].search_code(w.search),
        # Derived from the input, so it is not compared: the job names the table.
        table=lambda w, input: (
            f"--warm-start {shlex.quote(os.path.dirname(input.table))}" if input.table else ""
        ),
    shell:
        "{PYTHON} {SCRIPTS:q}/search.py --job {params.job:q} --split {params.split}"
        " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads}"
        " --workers {STUDY.workers} {params.table} {SHARE}"
        " 2> {log}"
