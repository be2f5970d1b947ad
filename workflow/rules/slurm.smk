# A workaround for the Slurm plugin; src/onlinefa_benchmark/slurm_plugin.py describes it.

from onlinefa_benchmark.slurm_plugin import keep_min_job_age

keep_min_job_age()
