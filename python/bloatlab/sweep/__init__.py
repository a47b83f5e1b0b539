"""Many runs: points in, one reduced value per point out, in the order of the points."""

from bloatlab.sweep.pool import Cancelled, Point, RunFailed, default_jobs, sweep
from bloatlab.sweep.watch import Watch, silent, watch

__all__ = ["Cancelled", "Point", "RunFailed", "Watch", "default_jobs", "silent", "sweep", "watch"]
