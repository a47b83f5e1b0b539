#!/bin/bash
# A sweep on SLURM: one job runs the scheduler, the sweep and its workers in one allocation.
#
#   sbatch examples/cluster/slurm.sh examples/sweeps/home-upload.toml -o runs/upload.csv
#
# Every node needs the same folder (a shared file system) with .venv, made by `make venv` and
# `.venv/bin/pip install dask distributed`. A job that reaches its time limit loses only the runs in progress: submit it again,
# and it continues.

#SBATCH --job-name=bloatlab
#SBATCH --ntasks=33
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=12:00:00
#SBATCH --output=bloatlab-%j.log

# Dask runs any code sent to the scheduler's port, even by other users of these nodes (docs/cluster.md, Security).
set -eu
bin="$PWD/.venv/bin"
# in the shared folder, so that every node can read it
file="$PWD/.dask-$SLURM_JOB_ID.json"
trap 'rm -f "$file"' EXIT

"$bin/dask" scheduler --scheduler-file "$file" --no-dashboard &
# one task remains for the scheduler and the sweep
srun --ntasks=$((SLURM_NTASKS - 1)) --overlap "$bin/dask" worker --scheduler-file "$file" --nthreads 1 --no-dashboard \
    --death-timeout 60 &

while [ ! -s "$file" ]; do sleep 1; done
"$bin/bloatlab" sweep "$@" --dask "$file"
"$bin/python" -c "import sys, distributed; distributed.Client(scheduler_file=sys.argv[1]).shutdown()" "$file"
wait
