"""Runs the command `bloatlab` as `python -m bloatlab`."""

from bloatlab.cli import main

if __name__ == "__main__":  # processes spawned by dask import this file, too
    main()
