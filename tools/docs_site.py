#!/usr/bin/env python3
"""Writes the pages of the docs site and the configuration from which Zensical builds it (`make site`).

    tools/docs_site.py FOLDER [--playground FILE] [--runs FOLDER]

The pages are README, the guides of docs/ named in GUIDES, the pages of docs/scenario/, the READMEs of the studies, and
the changelog with docs/changes/. Each queue discipline, application, TCP stack and congestion controller also has a
page, made from the catalogue and the documentation in the code. Links between files of the repository become links
between pages; a link to a file that is not a page becomes plain text.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from posixpath import join, normpath, relpath
from typing import Any

import bloatlab
from bloatlab.cli.play import fragment
from bloatlab.scenario import Scenario, catalogue, parse
from bloatlab.simulation import Result
from bloatlab.studies import STUDIES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import scenario_doc  # noqa: E402  a file in the same folder, not a package

QDISC = ROOT / "crates/qdisc/src"
CONTROLLERS = ROOT / "crates/tcp/src/cc"

#: Pages of docs/ in menu order.
GUIDES = {
    "Use it": [
        "tour",
        "cookbook",
        "overview",
        "install",
        "notebooks",
        "playground",
        "plots",
        "traces",
        "reports",
        "recommend",
        "sweeps",
        "check",
        "judge",
        "store",
        "cluster",
        "live",
        "low-latency-docsis",
        "links",
        "flent",
        "qlog",
        "responsiveness",
        "media",
        "workloads",
    ],
    "Reference": ["scenario", "results", "glossary", "sources"],
    "Trust": ["validation", "speed"],
    "Teach": ["classroom", "classroom-handout"],
    "Build": [
        "architecture",
        "adding-a-law-in-python",
        "adding-a-controller-in-python",
        "adding-a-discipline",
        "adding-a-controller",
        "adding-a-study",
        "driving",
        "gym",
        "transports",
        "ci-for-your-transport",
    ],
}
#: Congestion controllers and their parts, such as rules for slow start: the module in CONTROLLERS, and the title of the
#: page made from it.
NAMED = {
    "reno": "Reno",
    "cubic_linux": "CUBIC of Linux",
    "cubic_rfc": "CUBIC of RFC 9438",
    "cubic_2_6_22": "CUBIC of Linux 2.6.22",
    "hystart": "HyStart",
    "hystart_pp": "HyStart++",
    "search": "SEARCH",
    "rapid_start": "Rapid Start",
    "bbr": "BBR",
    "bbr3": "BBR version 3",
    "ledbat": "LEDBAT",
    "ledbat_pp": "LEDBAT++",
    "westwood": "Westwood+",
    "dctcp": "DCTCP",
    "prague": "TCP Prague",
    "fixed": "Constant window",
    "abe": "Alternative backoff with ECN",
}
INK = {"primary": "teal", "accent": "teal"}
#: Pictures keep their white background in the dark theme.
STYLE = """.md-typeset img { background: #fff; }
/* the picture that a page begins with leaves room for the words below it */
.md-typeset h1 + p > img:only-child { max-height: 60vh; width: auto; }
.md-typeset table:not([class]) { font-size: .68rem; }
.md-typeset pre > code { font-size: .62rem; }
/* a narrow screen scrolls a table: names stay whole, and a cell is wide enough to be read */
.md-typeset table:not([class]) td > code:first-child { overflow-wrap: normal; word-break: normal; }
@media (max-width: 44.9375em) {
  .md-typeset table:not([class]) th, .md-typeset table:not([class]) td { min-width: 6.5rem; }
  /* a row of a table of keys becomes a paragraph: the key, its kind or unit, its default, its meaning */
  .md-typeset .keys table { display: block; border: 0; }
  .md-typeset .keys thead { display: none; }
  .md-typeset .keys tr { display: block; padding: .5rem 0; border-bottom: .05rem solid #8884; }
  .md-typeset .keys table:not([class]) td { display: inline; border: 0; padding: 0 .4rem 0 0; }
  .md-typeset .keys table:not([class]) td:last-child { display: block; }
}
"""
#: Pages whose paths begin with these texts show every table as a table of keys (see STYLE). Other pages do so only with
#: tables that match `KEY_TABLE`.
KEY_PAGES = ("scenario", "disciplines/", "applications/")
ANY_TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)
KEY_TABLE = re.compile(r"^\| \w+ \| unit \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)
KEYS = r'<div class="keys" markdown="block">\n\n\g<0>\n</div>\n'
#: The search is a web worker, which browsers refuse to start from a file on disk; this script contains the worker's
#: source for pages opened from disk.
SHIM = """if (location.protocol === "file:") {
  const source = SOURCE;
  window.Worker = class extends Worker {
    constructor() { super(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))); }
  };
}
"""
MENU = [
    "Use it",
    "Studies",
    "Queue disciplines",
    "TCP stacks",
    "Congestion control",
    "Applications",
    "Reference",
    "Trust",
    "Teach",
    "Build",
]
#: Placeholder for the figure of a discipline, which is drawn when the page is written.
EXAMPLE = "<!-- example -->"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


@dataclass
class Page:
    """A page of the site. `origin` is the repository file with its text, empty if the text is generated."""

    place: str
    origin: str
    title: str
    text: str
    about: str = ""


def module_doc(path: Path) -> str:
    """Returns the `//!` documentation at the head of a Rust file, as Markdown."""
    lines: list[str] = []
    for line in path.read_text().splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[3:].removeprefix(" "))
    text = "\n".join(lines).replace("```text", "```")
    return re.sub(r"\[(`[^`\]]+`)\](?:\([^)]*\))?", r"\1", text)


def discipline_file(name: str) -> Path | None:
    """Returns the file that implements a queue discipline, or None."""
    files = [QDISC / room / f"{name}.rs" for room in ("law", "fair", "class", "dual", "single")]
    files.append(QDISC / name / "mod.rs")
    return next((file for file in files if file.exists()), None)


def cell(text: object) -> str:
    """Returns the text in a form that fits in a table cell."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def parameters(entry: dict[str, Any]) -> str:
    """Returns the table of the parameters of a catalogue entry.

    For a TCP stack, the table shows the stack's values; for other entries, it shows defaults and meanings.
    """
    params = entry.get("params") or []
    if isinstance(params, dict):
        rows = [
            f"| `{name}` | {cell(v if isinstance(v, str) else scenario_doc.toml(v))} |" for name, v in params.items()
        ]
        return "\n".join(["| parameter | value |", "|---|---|", *rows])
    if not params:
        return "It has no parameters."
    rows = [f"| `{p['name']}` | {' | '.join(map(cell, scenario_doc.default(p, {})))} |" for p in params]
    return "\n".join(["| parameter | default | meaning |", "|---|---|---|", *rows])


def entry_page(kind: str, entry: dict[str, Any]) -> Page:
    """Returns the page for a discipline, an application or a TCP stack."""
    name, what = str(entry["name"]), cell(entry.get("doc") or entry.get("summary"))
    use = {
        "disciplines": f'    [link.up]\n    queue = "{name}"',
        "applications": f"    [app.NAME.traffic.{name}]",
        "tcp": f'    [app.NAME]\n    tcp = "{name}"',
    }[kind]
    keys = {"disciplines": f"Queue {name}", "applications": f"Traffic {name}", "tcp": "TCP stacks"}[kind]
    parts = [f"# {name}", EXAMPLE if kind == "disciplines" else f"{what}."]
    parts.append(f"In a [scenario]({keys_of(keys)}):\n\n{use}")
    if entry.get("source"):
        parts.append(f"Source: {entry['source']}. [Sources](../sources.md) lists the papers.")
    parts.append("## Parameters\n\n" + parameters(entry))
    if (file := discipline_file(name) if kind == "disciplines" else None) is not None:
        parts.append("## Model and sources\n\n" + demoted(module_doc(file)))
    return Page(f"{kind}/{name}.md", "", name, "\n\n".join(parts) + "\n", what)


def keys_of(title: str) -> str:
    """Returns the link to the key table with this title, for a page that is one folder below the root of the site."""
    for file in sorted((ROOT / "docs/scenario").glob("*.md")):
        if f"\n## {title}\n" in file.read_text():
            return f"../scenario/{file.name}#{title.lower().replace(' ', '-')}"
    return "../scenario.md"


def demoted(text: str) -> str:
    """Moves all headings two levels down, so that the page has a single title."""
    return re.sub(r"^(#+) ", r"##\1 ", text, flags=re.MULTILINE)


def controller_pages() -> list[Page]:
    """Returns one page for each module in NAMED."""
    return [
        Page(f"controllers/{name}.md", "", title, f"# {title}\n\n{demoted(module_doc(CONTROLLERS / f'{name}.rs'))}\n")
        for name, title in NAMED.items()
    ]


def index_page(kind: str, title: str, text: str, pages: list[Page]) -> Page:
    """Returns a page that lists `pages`."""
    rows = [f"| [{page.title}]({Path(page.place).name}) | {page.about} |" for page in pages]
    return Page(f"{kind}/index.md", "", title, "\n".join([f"# {title}", "", text, "", "| | |", "|---|---|", *rows, ""]))


def pages() -> dict[str, list[Page]]:
    """Returns every page of the site, by menu heading."""
    kinds = catalogue()
    menu: dict[str, list[Page]] = {"": [Page("index.md", "README.md", "bloatlab", (ROOT / "README.md").read_text())]}
    for heading, names in GUIDES.items():
        files = [ROOT / "docs" / f"{name}.md" for name in names]
        menu[heading] = [
            Page(f.name, f"docs/{f.name}", f.read_text().splitlines()[0].removeprefix("# "), f.read_text())
            for f in files
            if f.exists()
        ]
    order = re.findall(r"^\[.*\]\((scenario/[\w-]+\.md)\):$", (ROOT / "docs/scenario.md").read_text(), re.MULTILINE)
    for place in reversed(order):
        text = (ROOT / "docs" / place).read_text()
        menu["Reference"].insert(1, Page(place, f"docs/{place}", text.splitlines()[0].removeprefix("# "), text))
    readme = "python/bloatlab/studies/{}/README.md"
    menu["Studies"] = [
        Page(f"studies/{name}.md", readme.format(name), name, (ROOT / readme.format(name)).read_text())
        for name in STUDIES
    ]
    for kind, key, title, text in (
        ("disciplines", "qdiscs", "Queue disciplines", "They decide which packet leaves next, and which is dropped."),
        ("tcp", "tcp", "TCP stacks", "Whole stacks, as presets."),
        ("applications", "apps", "Applications", "They send and receive."),
    ):
        made = [entry_page(kind, entry) for entry in kinds[key]]
        menu[title] = [index_page(kind, title, text, made), *made]
    made = controller_pages()
    text = "They choose the window of a TCP sender."
    menu["Congestion control"] = [index_page("controllers", "Congestion control", text, made), *made]
    menu["Build"].append(Page("changelog.md", "CHANGELOG.md", "Changelog", (ROOT / "CHANGELOG.md").read_text()))
    for file in sorted((ROOT / "docs/changes").glob("*.md"), reverse=True):
        text = file.read_text()
        title = text.partition("\n")[0].removeprefix("# ")
        menu["Build"].append(Page(f"changes/{file.name}", f"docs/changes/{file.name}", title, text))
    return menu


def linked(page: Page, places: dict[str, str], pictures: dict[str, str]) -> str:
    """Returns the page's text, with links between files of the repository replaced by links between pages.

    Adds the pictures on the page to `pictures`.
    """

    def one(match: re.Match[str]) -> str:
        mark, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target) or not page.origin:
            return match.group(0)
        path, _, anchor = target.partition("#")
        path = normpath(join(str(Path(page.origin).parent), path))
        here = str(Path(page.place).parent)
        if mark:
            pictures[path] = place = f"images/{Path(path).name}"
            return f"![{text}]({relpath(place, here)})"
        if path not in places:
            return text
        return f"[{text}]({relpath(places[path], here)}{'#' + anchor if anchor else ''})"

    return LINK.sub(one, page.text)


def write(folder: Path, playground: Path | None, runs: Path | None) -> dict[str, list[Page]]:
    """Writes all pages and pictures into the folder and returns the menu."""
    menu = pages()
    places = {page.origin: page.place for group in menu.values() for page in group if page.origin}
    pictures: dict[str, str] = {}
    for page in (page for group in menu.values() for page in group):
        text = linked(page, places, pictures)
        if page.place.startswith("studies/"):
            title, _, rest = text.partition("\n")
            first = answer(folder, page.title, runs)
            text = f"{title}\n\n{first}{rest}{figures(folder, page.title)}"
        if EXAMPLE in text:
            text = text.replace(EXAMPLE, example(folder, page, playground))
        if page.place == "playground.md" and playground is not None and playground.exists():
            shutil.copyfile(playground, folder / "play.html")
            text = text.replace("\n\n", "\n\n**[Open the playground](play.html)** in this browser.\n\n", 1)
        if page.place == "judge.md" and runs is not None and (runs / "judge/index.html").exists():
            shutil.copytree(runs / "judge", folder / "judge/matrix", dirs_exist_ok=True)
            text = text.replace("\n\n", "\n\n**[All controllers by all suites](judge/matrix/index.html)**\n\n", 1)
        text = (ANY_TABLE if page.place.startswith(KEY_PAGES) else KEY_TABLE).sub(KEYS, text)
        place = folder / page.place
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "site.css").write_text(STYLE)
    (folder / "iframe-worker.js").write_text(SHIM.replace("SOURCE", json.dumps(search_worker())))
    for path, place in pictures.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / place)
    return menu


def search_worker() -> str:
    """Returns the source of Zensical's search worker."""
    found = importlib.util.find_spec("zensical")
    if found is None or found.origin is None:
        raise SystemExit("zensical is not installed: make site installs it")
    (worker,) = (Path(found.origin).parent / "templates/assets/javascripts/workers").glob("search.*.js")
    return worker.read_text(encoding="utf-8")


def answer(folder: Path, name: str, runs: Path | None) -> str:
    """Returns a study's answer and the figure of the answer, both taken from the report of a stored run.

    Copies the report and all its figures into the study's folder on the site. Without a stored run, returns a sentence
    that says so.
    """
    kept, target = (runs or Path()) / name, folder / "studies" / name
    for file in [*kept.glob("report.html"), *(kept / "figures").glob("*.svg")] if runs else []:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.name)
    if not (target / "report.html").exists():
        return f"`bloatlab reproduce {name}` computes its answer; this site has no run of it.\n"
    report = (target / "report.html").read_text(encoding="utf-8")
    found = [
        re.search(rf"<{tag}>(.*?)</", report, re.DOTALL) for tag in ("h1", 'p class="sentence"', 'p class="basis"')
    ]
    question, sentence, basis = (" ".join(m[1].split()) if m else "" for m in found)
    lines = [f"**{question}** {sentence}", f"{basis} Every number: [the study's report]({name}/report.html)."]
    if drawn := re.search(r'class="answer.*?<svg(.*?</svg>)', report.partition("<main>")[0], re.DOTALL):
        names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        (target / "answer.svg").write_text(f"<svg {names}{drawn[1]}", encoding="utf-8")
        lines.insert(1, f"![{question}]({name}/answer.svg)")
    return "\n\n".join(lines) + "\n"


def figures(folder: Path, name: str) -> str:
    """Returns the section with a study's figures, except the figure of the answer.

    Returns an empty string if there are no other figures.
    """
    found = sorted((folder / "studies" / name).glob("*.svg"))
    shown = [f"![{f.stem.replace('_', ' ')}]({name}/{f.name})" for f in found if f.stem != "answer"]
    return "\n\n".join(["", "## Figures", *shown, ""]) if shown else ""


def household(queue: str | dict[str, Any]) -> Scenario:
    """Returns a scenario with two uploads and a call on 5 Mbit/s upstream, behind this queue."""
    home = {"from": "home", "to": ["internet"]}
    up = {"from": "home", "to": "internet", "rate": "5mbit", "delay": "10ms", "queue": queue}
    down = {"from": "internet", "to": "home", "rate": "50mbit", "delay": "10ms"}
    upload = {**home, "start": "5s", "traffic": {"ftp": {"flows": 2}}}
    apps = {"call": {**home, "traffic": "voip"}, "upload": upload}
    return parse(
        json.dumps({"name": "home", "duration": "40s", "link": {"up": up, "down": down}, "app": apps}), form="json"
    )


#: The plain buffer with which each discipline is compared.
PLAIN = {"droptail": {"limit": "250p"}}


@cache
def plain() -> Result:
    """Runs the household behind a plain buffer."""
    return bloatlab.run(household(PLAIN))


def felt(result: Result) -> str:
    """Formats the median delay and the MOS of the household's call."""
    call = result.summary["apps"]["call"]
    return f"is {call['delay_ms']['p50']:.0f} ms late at the median and scores {call['voip']['mos']:.2f} (MOS)"


def example(folder: Path, page: Page, playground: Path | None) -> str:
    """Returns a figure that compares a discipline with a plain buffer, then a paragraph and a playground link.

    The link is omitted if there is no playground. For `python`, which has no defaults, there is only a paragraph.
    """
    name = page.title
    if name == "python":
        return f"{page.about}. It has no defaults to show: [a law in Python](../adding-a-law-in-python.md) is yours."
    given = household(name)
    file = folder / "disciplines" / f"{name}.svg"
    file.parent.mkdir(parents=True, exist_ok=True)
    result = bloatlab.run(given)
    bloatlab.plot(plain(), result, output=file)
    words = "Two uploads and a call share 5 Mbit/s upstream: behind a plain buffer of 250 packets the call "
    words += f"{felt(plain())}; behind {name} with its defaults it {felt(result)}. Seed 1."
    lines = [
        f"![A plain buffer of 250 packets beside {name}]({name}.svg)",
        f"{page.about}. {words}",
    ]
    if playground is not None and playground.exists():
        address = f"../play.html{fragment(given, household(PLAIN))}"
        lines.append(f"**[Try {name} in the playground]({address})**: both runs, behind sliders.")
    return "\n\n".join(lines)


def toggle(to: str) -> dict[str, str]:
    """Returns the button that switches to the dark theme ("night") or to the light theme ("sunny")."""
    icon = {"night": "material/weather-night", "sunny": "material/weather-sunny"}[to]
    return {"icon": icon, "name": "dark" if to == "night" else "light"}


def config(menu: dict[str, list[Page]]) -> str:
    """Returns the configuration in MkDocs' format, as JSON, which is valid YAML."""
    nav: list[Any] = [{page.title: page.place} for page in menu[""]]
    nav.extend({heading: [{page.title: page.place} for page in menu[heading]]} for heading in MENU)
    return json.dumps(
        {
            "site_name": "bloatlab",
            "site_description": "A laboratory for bufferbloat and active queue management",
            "docs_dir": "pages",
            "site_dir": "html",
            "use_directory_urls": False,
            "theme": {
                "name": "material",
                "font": False,
                "features": ["navigation.tabs", "navigation.top", "content.code.copy", "toc.follow"],
                "palette": [
                    {"media": "(prefers-color-scheme: light)", "scheme": "default", **INK, "toggle": toggle("night")},
                    {"media": "(prefers-color-scheme: dark)", "scheme": "slate", **INK, "toggle": toggle("sunny")},
                ],
                "icon": {"logo": "material/router-wireless"},
            },
            # the offline plugin makes the search work in pages opened from disk. It would add a script from unpkg.com,
            # unless a file called iframe-worker is listed here; our iframe-worker.js contains SHIM
            "extra": {"generator": False, "polyfills": ["iframe-worker.js"]},
            "extra_css": ["site.css"],
            "plugins": ["search", "offline"],
            "markdown_extensions": ["tables", "fenced_code", "md_in_html", {"toc": {"permalink": True}}],
            "nav": nav,
        },
        indent=1,
    )


def main() -> int:
    """Writes FOLDER/pages and FOLDER/site.yml."""
    parser = argparse.ArgumentParser(description="Pages of the docs site, for Zensical.")
    parser.add_argument("folder", type=Path, help="where the pages go; it is emptied")
    parser.add_argument("--playground", type=Path, help="the built playground")
    parser.add_argument("--runs", type=Path, help="folder of studies' results, for their figures")
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    menu = write(given.folder / "pages", given.playground, given.runs)
    (given.folder / "site.yml").write_text(config(menu))
    sys.stdout.write(f"{sum(map(len, menu.values()))} pages in {given.folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
