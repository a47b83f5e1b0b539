"""Runs the command `bloatlab` as `python -m bloatlab`."""

from bloatlab.cli import main

if __name__ == "__main__":  # Dask's worker processes import this file and must not run the command
    main()
