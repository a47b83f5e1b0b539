"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

Sets = Annotated[tuple[str, ...], Parameter(name="--set")]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
OutputFile = Annotated[Path, Parameter(name=["--output", "-o"])]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"])]
Jobs = Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=validators.Number(gte=1))]
TextJson = Annotated[Literal["text", "json"], Parameter(name=["--format", "-f"])]
TextCsvJson = Annotated[Literal["text", "csv", "json"], Parameter(name=["--format", "-f"])]
TableForm = Annotated[Literal["csv", "json", "parquet"], Parameter(name=["--format", "-f"])]
