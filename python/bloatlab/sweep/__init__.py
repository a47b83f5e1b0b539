"""Many runs: points in, one reduced value per point out, in the order of the points."""

from bloatlab.sweep.pool import Cancelled, Point, RunError, default_jobs, sweep
from bloatlab.sweep.watch import Watch, silent, watch

__all__ = ["Cancelled", "Point", "RunError", "Watch", "default_jobs", "silent", "sweep", "watch"]
