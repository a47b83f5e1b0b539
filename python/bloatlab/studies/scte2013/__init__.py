"""ARRIS 2013: taxonomy of bufferbloat management in DOCSIS 3.0 modems. See README.md beside this file."""
