"""Runs the test cases of a document for a controller, a transport or a queue, with a verdict on each criterion.

A suite is a folder of `suites`: `suite.toml` and one file per case. A case is a scenario with a table `judge`: the
document's statement, the criteria and their limits. The module `runs` runs the cases, `verdicts` judges the
runs, and `page` writes the result.
"""

from bloatlab.judge.runs import judged
from bloatlab.judge.suites import STACK, JudgeError, Suite, names, suite
from bloatlab.judge.verdicts import Judged

__all__ = ["STACK", "JudgeError", "Judged", "Suite", "judged", "names", "suite"]
