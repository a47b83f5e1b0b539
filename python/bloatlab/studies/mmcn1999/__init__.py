"""MMCN 1999: class-based thresholds against unresponsive traffic. See README.md beside this file."""
