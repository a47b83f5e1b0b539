"""CSC458, the Mininet bufferbloat lab, simulated and on real kernels. See README.md beside this file."""
