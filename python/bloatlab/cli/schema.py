"""`bloatlab schema`: prints the JSON Schema of a scenario."""

import json
import sys

from bloatlab import scenario


def command() -> int:
    """Print the JSON Schema of scenario files.

    Editors that support schemas for TOML use it to complete and check scenario files.
    """
    sys.stdout.write(json.dumps(scenario.schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
