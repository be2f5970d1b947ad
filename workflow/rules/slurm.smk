# While Slurm's controller is away, the plugin must not change its mind about how to ask for jobs.

import sys


def remembered(ask):
    """The last answer in place of none."""
    last = None

    def answer():
        nonlocal last
        answered = ask()
        last = last if answered is None else answered
        return last

    return answer


# Before it submits anything, and each time it looks at its jobs, version 2.8 asks the controller how
# long it remembers finished ones. Without an answer it turns to sacct, and where there is no accounting
# it then forgets all jobs and waits for ever. Snakemake has loaded the plugin by now, if there is one,
# so that nothing is imported here.
PLUGIN = "snakemake_executor_plugin_slurm"
loaded = map(sys.modules.get, (PLUGIN, f"{PLUGIN}.validation"))
asking = [part for part in loaded if hasattr(part, "get_min_job_age")]
if asking:
    min_job_age = remembered(asking[0].get_min_job_age)
    for part in asking:
        part.get_min_job_age = min_job_age
