"""Runs the command `bloatlab` as `python -m bloatlab`."""

from bloatlab.cli import main

if __name__ == "__main__":  # worker processes of Dask import this file, too
    main()
