"""Entry point of `python -m bloatlab`, which is the same as the command `bloatlab`."""

from bloatlab.cli import main

if __name__ == "__main__":  # Dask's worker processes import this file and must not run the command
    main()
