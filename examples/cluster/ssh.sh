#!/bin/sh
# A sweep on machines reachable by SSH without a password: the first host runs the scheduler, and all hosts run workers.
#
#   examples/cluster/ssh.sh "10.0.0.1 10.0.0.2 10.0.0.3" examples/sweeps/home-upload.toml -o runs/upload.csv
#
# This machine needs bloatlab, dask, distributed and asyncssh. Every host needs the same versions of bloatlab, dask and distributed,
# at the same path (PYTHON).
#
# Dask runs any code sent to port 8786. Use this only if no stranger can reach the hosts (docs/cluster.md, Security).
set -eu
hosts=$1
shift
python=${PYTHON:-$PWD/.venv/bin/python}
bin=$(dirname "$python")
first=${hosts%% *}

# one thread per core of each host; the sweep begins when the workers are connected
# shellcheck disable=SC2086
"$bin/dask" ssh --remote-python "$python" --nworkers auto --nthreads 1 --scheduler-port 8786 $hosts &
cluster=$!
trap 'kill $cluster 2>/dev/null' EXIT INT TERM

until "$python" -c "import socket, sys; socket.create_connection((sys.argv[1], 8786), 2)" "$first" 2>/dev/null; do sleep 1; done
"$bin/bloatlab" sweep "$@" --dask "tcp://$first:8786"
