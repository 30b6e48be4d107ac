# Table of failed jobs at the end of a run: Snakemake reports failures when they happen, where
# --quiet hides them or other output follows.
import logging
import signal

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from ensemble_search.results import job_logs


class Endings(logging.Filter):
    """Collects messages on failed jobs, by job id, also with --quiet.

    SLURM's reason for ending a job is added to the job's log, because the job does not know it.
    After Ctrl-C, messages are dropped: the jobs have not failed. While no jobs run, Snakemake would
    end with a traceback.
    """

    def __init__(self):
        super().__init__()
        self.messages = {}
        self.interrupted = False
        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
            signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, number, frame):
        self.interrupted = True
        raise SystemExit("Stopped; run the same command again to continue.")

    def filter(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_ERROR:
            message = record.rule_msg or ""
            self.messages[record.jobid] = message
            for job in () if self.interrupted else list(workflow.scheduler.running):
                if job.jobid == record.jobid and not job.is_group():
                    self.messages[record.jobid] = explain(job, message, record.log) or message
        elif event != LogEvent.ERROR:
            return True
        elif job := re.search(r"Job (\d+) +completed successfully, but", str(record.msg)):
            files = re.findall(r"^(.+) \(missing ", record.msg, re.MULTILINE)
            self.messages[int(job[1])] = f"it ended without writing {', '.join(files)}"
        return not self.interrupted


def explain(job, message, logs):
    """Explain in one line, also added to its log, why SLURM ended a job; empty if it did not."""
    log = Path(job.log[0]) if job.log else None
    # SLURM's logs follow those of the job.
    of_slurm = job_logs.text(Path(logs[-1])) if len(logs) > len(job.log) else ""
    asked = (job.resources.get(name, 0) for name in ("mem_mb", "runtime"))
    why = slurm.why_ended(message, of_slurm, *asked, job.rule.name)
    if why:
        name = " ".join((job.rule.name, *job.wildcards))
        print(f"note: {one_line(f'{name}: {why}')}", file=sys.stderr, flush=True)
        if log and not job_logs.reason(log):
            with suppress(OSError), log.open("a", encoding="utf-8") as file:
                file.write(f"error: {one_line(why)}\n")
    return why


def failures():
    """List failed jobs; if a job was tried several times, by its last attempt."""
    found = []
    for job in workflow.scheduler.failed:
        for part in job if job.is_group() else [job]:
            log = Path(part.log[0]) if part.log else None
            message = ENDINGS.messages.get(part.jobid, "")
            names = tuple(part.wildcards)
            if part.rule.name == "fetch":  # whose folder is not named as in the study
                names += tuple(d for d in JOBS.study.datasets if JOBS.source_key(d) == names[0])
            found.append(job_logs.Failure(part.rule.name, names, log, message))
    return sorted(found)


if workflow.is_main_process:
    ENDINGS = Endings()
    logger.addFilter(ENDINGS)
