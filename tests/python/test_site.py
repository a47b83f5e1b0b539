"""The docs site (tools/docs_site.py): its contents, and that each link leads to a page."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bloatlab.scenario import catalogue, from_dict
from bloatlab.studies import STUDIES

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    given = importlib.util.spec_from_file_location("docs_site", ROOT / "tools/docs_site.py")
    assert given is not None
    assert given.loader is not None
    module = importlib.util.module_from_spec(given)
    sys.modules["docs_site"] = module
    given.loader.exec_module(module)
    return module


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.fetched: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[k] for k in ("id", "name") if k in given)
        if tag == "a" and "href" in given:
            self.targets.append(given["href"])
        fetches = tag in ("img", "script") and "src" in given
        if fetches or (tag == "link" and given.get("rel") in ("stylesheet", "shortcut icon", "icon")):
            self.fetched.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the site, with one figure of a study and a placeholder for the playground."""
    folder = tmp_path_factory.mktemp("site")
    figures = folder / "runs/mmcn1999/figures"
    figures.mkdir(parents=True)
    (figures / "goodput.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (figures.parent / "report.html").write_text(
        '<div class="answer"><h1>Which queue protects?</h1>\n<p class="sentence">CBT does.</p>'
        '<p class="basis">Medians of 1 seed.</p><figure><svg viewBox="0 0 1 1"></svg></figure></div><main></main>'
    )
    (folder / "runs/judge").mkdir()
    (folder / "runs/judge/index.html").write_text("<title>matrix</title>")
    (folder / "play.html").write_text("<title>playground</title>")
    more = ["--runs", str(folder / "runs"), "--playground", str(folder / "play.html")]
    write = [sys.executable, str(ROOT / "tools/docs_site.py"), str(folder / "site"), *more]
    subprocess.run(write, check=True, capture_output=True, timeout=400)
    build = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "-f", str(folder / "site/site.yml")]
    done = subprocess.run(build, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site/html"


def parsed(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text())
    return links


def test_the_referees_matrix_is_part_of_the_site(site: Path):
    assert "judge/matrix/index.html" in parsed(site / "judge.html").targets
    assert (site / "judge/matrix/index.html").read_text() == "<title>matrix</title>"


def test_everything_has_a_page(site: Path):
    kinds = catalogue()
    for room, key in (("disciplines", "qdiscs"), ("tcp", "tcp"), ("applications", "apps")):
        for entry in kinds[key]:
            text = (site / room / f"{entry['name']}.html").read_text()
            params = entry.get("params") or []
            names = params if isinstance(params, dict) else [p["name"] for p in params]
            assert all(f"<code>{name}</code>" in text for name in names), entry["name"]
    assert {p.stem for p in (site / "studies").glob("*.html")} == set(STUDIES)
    assert (site / "studies/mmcn1999/goodput.svg").exists()
    assert 'href="play.html"' in (site / "playground.html").read_text()


def test_every_controller_and_guide_is_in_the_menu():
    module = load()
    files = {f.stem for f in (ROOT / "crates/tcp/src/cc").glob("*.rs")}
    # linux.rs has the arithmetic that both forms of CUBIC share, and cubic.rs selects a form; control.rs has the
    # interface, and list.rs lists the controllers; params.rs and shared.rs have the parameters of controllers;
    # foreign.rs calls a class in Python; first_start.rs selects the algorithm of the first slow start; both LEDBATs
    # share delay_filters.rs
    others = {
        *("mod", "linux", "cubic", "control", "foreign", "list", "params", "shared", "tests"),
        *("first_start", "delay_filters"),
    }
    assert set(module.NAMED) == files - others
    guides = {name for group in module.GUIDES.values() for name in group}
    # docs/README.md lists the pages for readers on GitHub, and the menu lists them on the site
    assert guides == {f.stem for f in (ROOT / "docs").glob("*.md")} - {"README"}


def test_a_discipline_has_a_figure_and_is_tried_in_the_playground(site: Path):
    for entry in catalogue()["qdiscs"]:
        name = entry["name"]
        if name == "python":
            continue
        page = (site / f"disciplines/{name}.html").read_text()
        assert f'src="{name}.svg"' in page
        assert "<svg" in (site / f"disciplines/{name}.svg").read_text()
        (packed,) = re.findall(r'href="\.\./play\.html#1=([\w-]+)"', page)
        held = json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15))
        queues = [from_dict(held[key]).data["link"]["up"]["queue"] for key in ("scenario", "pinned")]
        assert [next(iter(queue)) for queue in queues] == [name, "droptail"]


def in_order(page: Path, *words: str) -> bool:
    """Returns whether the page has these strings after its title, in this order."""
    text = page.read_text()
    places = [text.find(word, text.index("</h1>")) for word in words]
    return -1 not in places and places == sorted(places)


def test_a_discipline_begins_with_its_picture_a_paragraph_and_the_playground(site: Path):
    for name in ("codel", "fq_codel", "dualpi2"):
        page = site / f"disciplines/{name}.html"
        assert in_order(page, f'src="{name}.svg"', "(MOS); behind", "play.html#1=", "scenario</a>", 'id="parameters"')


def test_a_study_begins_with_its_answer(site: Path):
    page = site / "studies/mmcn1999.html"
    assert in_order(page, "Which queue protects?", "CBT does.", "mmcn1999/answer.svg", "1 seed", "mmcn1999/report.html")
    assert page.read_text().count("answer.svg") == 1
    assert (site / "studies/mmcn1999/answer.svg").read_text().endswith(' viewBox="0 0 1 1"></svg>')
    assert in_order(site / "studies/csc458.html", "bloatlab reproduce csc458", "no run of it")


def test_a_parameter_without_a_default_shows_what_the_discipline_takes(site: Path):
    page = (site / "disciplines/pie.html").read_text()
    assert "<td>15ms, 20ms (draft2013)</td>" in page
    assert "<code>linux-6</code>" in (site / "scenario/tcp.html").read_text()


def test_old_links_into_the_scenarios_page_find_their_table(site: Path):
    ids = parsed(site / "scenario.html").ids
    tables = [parsed(page).ids for page in (site / "scenario").glob("*.html")]
    assert {"queue-codel", "delivery-like-wi-fi", "traffic-voip", "tcp-stacks"} <= ids & set().union(*tables)


def test_the_search_works_from_disk(site: Path, browser: Any):
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
    page.goto((site / "disciplines/codel.html").as_uri())
    page.locator(".md-search__button").click()
    page.locator("input:focus").wait_for()
    page.keyboard.type("bandwidth delay product", delay=30)
    page.get_by_text("Glossary").locator("visible=true").first.wait_for(timeout=60_000)
    assert asked == []
    context.close()


def test_links_lead_somewhere_and_nothing_comes_from_elsewhere(site: Path):
    pages = {p.resolve(): parsed(p) for p in site.rglob("*.html") if p.name not in ("play.html", "404.html")}
    assert len(pages) > 60
    for place, links in pages.items():
        for target in links.fetched:
            assert not re.match(r"[a-z]+:|//", target), f"{place.name} fetches {target}"
            assert (place.parent / target.split("?")[0]).exists(), f"{place.name}: {target}"
        for target in links.targets:
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:|//", target) or (not path and not anchor):
                continue
            aim = (place.parent / path).resolve() if path else place
            assert aim.exists(), f"{place.name}: {target}"
            if anchor and aim in pages:
                assert anchor in pages[aim].ids, f"{place.name}: {target}"
