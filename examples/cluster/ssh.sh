#!/bin/sh
# A sweep on machines that SSH reaches without a password: the first host has the scheduler, all have workers.
#
#   examples/cluster/ssh.sh "10.0.0.1 10.0.0.2 10.0.0.3" examples/sweeps/home-upload.toml -o runs/upload.csv
#
# Needs bloatlab, dask, distributed and asyncssh here, and the same bloatlab, dask and distributed under the same path (PYTHON) on every host.
#
# Dask runs whatever is sent to port 8786: only where no stranger reaches these hosts (docs/cluster.md, Security).
set -eu
hosts=$1
shift
python=${PYTHON:-$PWD/.venv/bin/python}
bin=$(dirname "$python")
first=${hosts%% *}

# one thread per core of each host; nothing is run before the workers are there
# shellcheck disable=SC2086
"$bin/dask" ssh --remote-python "$python" --nworkers auto --nthreads 1 --scheduler-port 8786 $hosts &
cluster=$!
trap 'kill $cluster 2>/dev/null' EXIT INT TERM

until "$python" -c "import socket, sys; socket.create_connection((sys.argv[1], 8786), 2)" "$first" 2>/dev/null; do sleep 1; done
"$bin/bloatlab" sweep "$@" --dask "tcp://$first:8786"
