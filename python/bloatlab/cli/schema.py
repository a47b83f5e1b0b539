"""`bloatlab schema`: the JSON Schema of a scenario."""

from __future__ import annotations

import json
import sys

from bloatlab import scenario


def command() -> int:
    """Print the JSON Schema that scenario files obey, for editors and for reading.

    An editor that knows TOML schemas completes and checks scenario files with it.
    """
    sys.stdout.write(json.dumps(scenario.schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
