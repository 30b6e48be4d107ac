# Submission to SLURM. A closed partition would fail all attempts of all jobs within seconds.
GATE = slurm.Gate()


def watch_submissions():
    """Hold jobs back while SLURM takes none, and submit none after Ctrl-C."""
    executor = workflow.executor_plugin.executor
    run_job, cancel = executor.run_job, executor.cancel

    def run_job_if_open(self, job):
        partition = job.resources.get("slurm_partition")
        if GATE.passes(partition):
            # The plugin excludes nodes that failed once, even if no other is left.
            if self._failed_nodes >= slurm.nodes(partition):
                self._failed_nodes.clear()
            run_job(self, job)

    def cancel_and_close(self):
        GATE.close()
        cancel(self)

    executor.run_job, executor.cancel = run_job_if_open, cancel_and_close
