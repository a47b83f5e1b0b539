"""`python -m bloatlab` is the command `bloatlab`."""

from bloatlab.cli import main

if __name__ == "__main__":  # a process that dask spawns reads this file, too
    main()
