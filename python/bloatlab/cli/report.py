"""`bloatlab report`: writes results as an HTML page."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, reading, replaceable_figure, writing
from bloatlab.cli.options import ForceFile, OutputFile
from bloatlab.files import make_folder
from bloatlab.report import Page, write
from bloatlab.report.results import NO_COLUMNS, results_page
from bloatlab.simulated_and_live import COMPARED, compared_page, opened
from bloatlab.studies.study import REPORT
from bloatlab.terminal import Console


def command(
    *results: Path,
    output: OutputFile,
    columns: Annotated[tuple[str, ...], Parameter(name=["--column", "-c"])] = (),
    force: ForceFile = False,
) -> int:
    """Write a report of results: one self-contained HTML file that begins with the main result.

    It begins with a one-sentence summary of the results and one figure; charts, tables and provenance follow. Charts
    show the value under the pointer, zoom together by dragging, and hide a line when you click its name. Without
    JavaScript and on paper they are plain pictures. See docs/reports.md.

    Args:
        results: Result folders of `bloatlab run -o` or `bloatlab live -o`, compared with each other; or a sweep's table
            (.parquet, .csv, .json) or its grid (.toml); or the folder of one `bloatlab compare -o`.
        output: File to write, ending in .html.
        columns: Measures of a sweep to show, by dotted path; * matches anything. Repeatable. Default: the columns that
            the grid or the table chooses, or else a selection.
    """
    if not results:
        raise BadInput("report: give a result's folder, a sweep's table, or a comparison's folder")
    if output.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"-o {output}: the name of a report ends in .html")
    if output.is_dir():
        raise BadInput(f"-o {output}: is a directory")
    replaceable_figure(output, force=force)
    chosen = [word for column in columns for word in ("-c", column)]
    words = shlex.join(["bloatlab", "report", *map(str, results), *chosen, "-o", str(output)])
    page = _page(results, words, columns)

    def save() -> None:
        make_folder(output.parent)
        write(page, output)

    writing(output, save)
    Console(stderr=True).say(f"{output}: {output.stat().st_size / 1e6:.2f} MB")
    return 0


def _page(results: tuple[Path, ...], words: str, columns: tuple[str, ...]) -> Page:
    for place in results:
        if (place / COMPARED).is_file():
            if len(results) > 1:
                raise BadInput(f"{place}: is a comparison; give it alone")
            if columns:
                raise BadInput(NO_COLUMNS)
            return _comparison(place, words)
        if (place / "scorecard.json").is_file() and (place / REPORT).is_file():
            raise BadInput(f"{place}: is a study's folder, and has a report already: {place / REPORT}")
    return reading(results[0], lambda: results_page(results, words, columns))


def _comparison(place: Path, words: str) -> Page:
    try:
        return compared_page(reading(place, lambda: opened(place)), words)
    except BadInput:
        raise
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"{place / COMPARED}: is not a comparison written by bloatlab") from None
