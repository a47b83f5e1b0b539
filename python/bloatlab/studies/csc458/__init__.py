"""CSC458, the Mininet bufferbloat lab, simulated and on kernels. See README.md beside this file."""
