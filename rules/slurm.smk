# Additions to SLURM's executor plugin. Without them, a closed partition fails all attempts of all
# jobs within seconds, and the workflow waits forever for jobs that ended while SLURM did not
# respond, or that SLURM has forgotten.
from collections import Counter

GATE = slurm.Gate()
MISSES = Counter()  # job number -> how often in a row SLURM did not know the job


def watch_executor():
    """Hold jobs back while SLURM accepts none, submit none after Ctrl-C, and lose none."""
    executor = workflow.executor_plugin.executor
    run_job, check_active_jobs, cancel = (
        executor.run_job,
        executor.check_active_jobs,
        executor.cancel,
    )

    def run_job_if_open(self, job):
        partition = job.resources.get("slurm_partition")
        if GATE.passes(partition):
            # The plugin excludes nodes that failed once, even if no others are left.
            if self._failed_nodes and slurm.nodes(partition) <= self._failed_nodes:
                self._failed_nodes.clear()
            run_job(self, job)

    async def check_all_jobs(self, active):
        answers = self._status_query_calls
        left = [job async for job in check_active_jobs(self, active)]
        if self._status_query_calls == answers:
            left = active  # SLURM did not respond, in which case the plugin drops them
        # The queue covers only one cluster.
        queue = None if self._submitted_job_clusters else slurm.queue()
        known = {job.number for job in queue or ()}
        for job in left:
            number = job.external_jobid
            MISSES[number] = 0 if queue is None or number in known else MISSES[number] + 1
            if MISSES[number] < 2:  # the first time, it may have ended since the plugin asked
                yield job
            else:
                message = (
                    f"SLURM has forgotten job {number}, which ended longer ago than MinJobAge. "
                )
                self.report_job_error(job, msg=message)

    def cancel_and_close(self):
        GATE.close()
        cancel(self)

    executor.run_job, executor.cancel = run_job_if_open, cancel_and_close
    executor.check_active_jobs = check_all_jobs
