"""The compiled core as seen from Python: scenarios, runs, determinism, cancelling."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab import results
from bloatlab._core import emodel
from bloatlab.scenario import catalogue, problems
from conftest import DUMBBELL, digest


@pytest.fixture(scope="module")
def dumbbell() -> bloatlab.Scenario:
    return bloatlab.parse(DUMBBELL)


@pytest.fixture(scope="module")
def result(dumbbell: bloatlab.Scenario) -> bloatlab.Result:
    return bloatlab.run(dumbbell)


# ---------------------------------------------------------------------------------------------------------- scenarios


def test_resolving_fills_in_defaults_and_is_stable(dumbbell: bloatlab.Scenario):
    assert (dumbbell.name, dumbbell.seed) == ("dumbbell", 7)
    assert dumbbell.data["link"]["up"]["queue"]["codel"]["target"] == "5ms"
    again = bloatlab.parse(dumbbell.text, form="json")
    assert again == dumbbell
    assert again.hash == dumbbell.hash
    assert len(dumbbell.hash) == 64


def test_json_and_toml_and_dict_mean_the_same(dumbbell: bloatlab.Scenario, scenario_file: Path, tmp_path: Path):
    (tmp_path / "same.json").write_text(dumbbell.text)
    assert bloatlab.load(scenario_file) == dumbbell == bloatlab.load(tmp_path / "same.json")
    assert bloatlab.from_dict(dumbbell.data) == dumbbell  # type: ignore[arg-type]


def test_resolved_scenarios_obey_the_schema(dumbbell: bloatlab.Scenario):
    jsonschema.Draft202012Validator.check_schema(bloatlab.schema())
    jsonschema.validate(dumbbell.data, bloatlab.schema())


_FLOW = {"max_sustained_rate": "5mbit"}
#: A value for every key that gives a link its rate or its service.
_SERVICES = {
    "rate": "5mbit",
    "shaper": _FLOW,
    "docsis": {"flow": _FLOW},
    "docsis31": {"flow": _FLOW},
    "delivery": "lte",
}
#: Values of `queue` and of `traffic`. A value is valid only if it has a single key.
_CHOICES = [
    ("link", "queue", {"codel": {}}),
    ("link", "queue", {"codel": {}, "pie": {}}),
    ("app", "traffic", {"voip": {}}),
    ("app", "traffic", {"voip": {}, "ftp": {}}),
]


def _link(**keys: object) -> dict[str, object]:
    return {"from": "a", "to": "b", "both_ways": True, **keys}


def _app(**keys: object) -> dict[str, object]:
    return {"from": "a", "to": ["b"], "traffic": "voip", **keys}


@pytest.mark.parametrize("keys", [set(c) for n in range(3) for c in itertools.combinations(_SERVICES, n)], ids=sorted)
def test_schema_and_resolve_refuse_the_same_services_of_a_link(keys: set[str]):
    link = _link(**{key: _SERVICES[key] for key in keys})
    exclusive = {"shaper", "docsis", "docsis31", "delivery"}
    own_rate = {"docsis31", "delivery"}
    valid = len(keys & exclusive) <= 1 and not ("rate" in keys and keys & own_rate)
    _agree({"duration": "1s", "link": {"up": link}}, valid)


@pytest.mark.parametrize(("table", "key", "value"), _CHOICES, ids=lambda c: "+".join(c) if isinstance(c, dict) else c)
def test_schema_and_resolve_refuse_two_choices_at_once(table: str, key: str, value: dict[str, object]):
    link, app = _link(rate="5mbit"), _app()
    {"link": link, "app": app}[table][key] = value
    _agree({"duration": "1s", "link": {"up": link}, "app": {"call": app}}, len(value) == 1)


#: For each kind of quantity, a string of valid spellings and a string of invalid ones, each separated by "|".
_SPELLINGS = {
    "duration": (
        (
            "5s|5sec|5 secs|20ms|20msec|20msecs|20us|20usec|20usecs|20\u00b5s|20\u03bcs|20ns|20nsec|20nsecs|2min|1h|"
            "5MS|5 Sec| 5ms |5  ms|1.5s|.5s|5.s|0s"
        ),
        "5||ms|-5ms|+5ms|5 parsecs|5m|5hours|1.2.3s|.s|..5s|1e3s|5 m s|5mins",
    ),
    "rate": (
        (
            "5000000|5000000bit|5000000bps|500kbit|500Kbit|500Kbps|5mbit|5Mbit|5Mbps|1gbit|1Gbit|1Gbps|"
            "1tbit|1Tbit|1Tbps|0.5 Mbit/s|5mbit/s| 5mbit |.5mbit|5.mbit"
        ),
        "five||mbit|-5mbit|5MBIT|5KBit|5 furlongs|20M|20MB|2Gb/s|5mbps|5kbps|5gbps|5mbit /s|1.2.3mbit|5mbit/",
    ),
    "size": (
        (
            "1514|1514b|1514B|6kb|6kB|6KB|6k|6K|1mb|1MB|1m|1M|1gb|1GB|1g|1G|64KiB|64kib|1MiB|1mib|1GiB|1gib|"
            " 6 KB |1.5KB|.5KB|6000."
        ),
        "|KB|-6KB|6Kb|6Mb|6kIB|6KIB|6TB|6ki|6 bytes|1.2.3KB|6e3",
    ),
    "limit": (
        (
            "417p|417pkt|417packets|417 p|417.p|417.0p|600KB|600 kb|64KiB|64kib|6000B|6000b|50ms|50msec|1s|"
            "1 SEC|0.1min| 417p "
        ),
        "|21|2.5p|-1p|p|5mbit|600K|600M|600k|417pkts|417P|417 packet|1..p",
    ),
    "share": (
        "0|1|0.05|.05|1.|5%|5 %|100%| 5% |0.5  %",
        "|%|-1%|5%%|5 percent|1.2.3|5p|1e-3",
    ),
    "window": (
        "auto|65535|64KiB|64kib|6291456B|600 KB|1m",
        "automatic|Auto||auto |5ms|64Kib|-1",
    ),
}


@pytest.mark.parametrize("kind", _SPELLINGS)
def test_schema_and_resolve_agree_on_spellings(kind: str):
    for valid, texts in zip([True, False], _SPELLINGS[kind], strict=True):
        for text in texts.split("|"):
            link = {"duration": {"delay": text}, "rate": {"rate": text}}.get(kind, {})
            queue = {
                "limit": {"droptail": {"limit": text}},
                "share": {"blue": {"increment": text, "decrement": 0}},
            }.get(kind, "droptail")
            file = {"size": text} if kind == "size" else {}
            window = {"receive_window": text} if kind == "window" else {}
            data = {
                "duration": "1s",
                "link": {"up": _link(**{"rate": "5mbit", "queue": queue, **link})},
                "app": {"file": _app(tcp="x", traffic={"ftp": file})},
                "tcp": {"x": {"preset": "linux-6", **window}},
            }
            _agree(data, valid, text)


def _agree(data: Any, valid: bool, named: object = None) -> None:
    validator = jsonschema.Draft202012Validator(bloatlab.schema())
    assert validator.is_valid(data) == valid, named
    if valid:
        bloatlab.from_dict(data)
    else:
        with pytest.raises(bloatlab.ScenarioError):
            bloatlab.from_dict(data)


def test_catalogue_names_what_there_is():
    known = {kind: {entry["name"] for entry in entries} for kind, entries in catalogue().items()}
    assert {"droptail", "codel"} <= known["qdiscs"]
    assert {"ftp", "cbr", "voip", "web"} <= known["apps"]
    assert {"linux-6", "ns2-cubic-2.6.22", "ns2-fulltcp-sack", "ns2-reno", "rfc"} <= known["tcp"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('rate = "5mbit"', 'rate = "5mbps"'), ["link.up.rate", "5mbps"]),
        (('rate = "5mbit"', 'rate = "-5mbit"'), ["link.up.rate", "-5mbit"]),
        (('rate = "5mbit"', 'raet = "5mbit"'), ["link.up", "raet", "rate"]),
        (("queue.codel", "queue.cobel"), ["link.up.queue", "cobel", "codel"]),
        (('tcp = "rfc"', 'tcp = "rcf"'), ["app.file.tcp", "rcf", "rfc"]),
        (('to = ["net"]\ntcp', 'to = ["nowhere"]\ntcp'), ["app.file", "nowhere"]),
        (('[link.down]\nfrom = "net"', '[link.down]\nfrom = "island"'), ["net", "home"]),
        (('duration = "5s"', 'duration = "5"'), ["duration"]),
        (("limit = ", "limt = "), ["link.up.queue.codel", "limt", "limit"]),
        (("traffic.voip = {}", "traffic.voip = {"), []),
    ],
)
def test_bad_scenarios_are_one_clear_line_each(change: tuple[str, str], words: list[str]):
    assert change[0] in DUMBBELL
    with pytest.raises(bloatlab.ScenarioError) as error:
        bloatlab.parse(DUMBBELL.replace(*change), source="modem.toml")
    lines = problems(error.value)
    assert lines
    assert all("\n" not in line and "modem.toml" in line for line in lines)
    assert any(all(word in line for word in words) for line in lines), lines


MODEM = """
duration = "1s"
[link.up]
from = "a"
to = "b"
rate = "100mbit"
{0}
[link.down]
from = "b"
to = "a"
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('docsis = { flow = { max_sustained_rate = "5mbit" }, map_interval = "0s" }', ["map_interval", "0s"]),
        ('changes = [{ at = "2ms", rate = "1mbit" }, { at = "1ms", rate = "2mbit" }]', ["changes"]),
        ("loss = 1.5", ["loss", "1.5"]),
        ("loss = -0.1", ["loss"]),
    ],
)
def test_bad_links_are_one_clear_line_each(line: str, words: list[str]):
    with pytest.raises(bloatlab.ScenarioError) as error:
        bloatlab.parse(MODEM.format(line), source="modem.toml")
    (found,) = problems(error.value)
    assert all(word in found for word in ["link.up", *words]), found


# ---------------------------------------------------------------------------------------------------------------- runs


def test_result_has_a_summary_and_frames(result: bloatlab.Result):
    voice = result.summary["apps"]["voip"]["voip"]
    assert voice["sent"] == 250  # 5 s at 50 frames a second
    assert result.summary["apps"]["file"]["goodput_bytes"] > 2_000_000
    series = result.table("queue_series").filter(pl.col("link") == "up")
    on_the_wire = series["sent_bytes"].sum() - result.summary["links"]["up"]["delivered_bytes"]
    # the bytes sent but not yet delivered are at most those sent in the 10 ms of propagation, plus the packet that is
    # being sent
    assert 0 <= on_the_wire <= 0.010 * 5e6 / 8 + 1500
    with pytest.raises(KeyError, match=r"expected .*queue_series"):
        result.table("nothing")


def test_books_balance(result: bloatlab.Result):
    """Every offered packet is delivered, dropped, queued or on the wire.

    A packet has at least 40 bytes. So the wire holds at most the packets of 40 bytes that the link sends in 10 ms, its
    propagation delay, and the packet that is being sent.
    """
    for name, rate in (("up", 5e6), ("down", 20e6)):
        link = result.summary["links"][name]
        gone = link["delivered_packets"] + link["dropped_packets"] + link["backlog_packets"]
        assert 0 <= link["offered_packets"] - gone <= 0.010 * rate / (8 * 40) + 1, name


def test_shares_of_the_queue_histogram_sum_to_one(result: bloatlab.Result):
    shares = result.table("queue_histogram").group_by("link").agg(pl.col("time_share").sum())
    assert shares["time_share"].to_list() == pytest.approx([1.0] * shares.height)


def same(one: bloatlab.Result, two: bloatlab.Result) -> bool:
    frames = all(one.tables[name].equals(two.tables[name], null_equal=True) for name in one.tables)
    return frames and one.summary == two.summary and set(one.tables) == set(two.tables)


def test_same_seed_same_numbers_alone_or_in_company(dumbbell: bloatlab.Scenario, result: bloatlab.Result):
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: bloatlab.run(dumbbell), range(4)):
            assert same(result, other)


def test_seed_argument_is_the_scenarios_seed(dumbbell: bloatlab.Scenario):
    by_argument = bloatlab.run(dumbbell, seed=3)
    by_scenario = bloatlab.run(dumbbell.with_sets(("seed", "3")))
    assert by_argument.seed == by_scenario.seed == 3
    assert same(by_argument, by_scenario)


def test_results_can_be_pickled(result: bloatlab.Result):
    back = pickle.loads(pickle.dumps(result))  # noqa: S301  our own
    assert same(back, result)
    assert back.scenario == result.scenario


def test_progress_goes_from_nothing_to_all(dumbbell: bloatlab.Scenario):
    heard: list[float] = []
    bloatlab.run(dumbbell.with_sets(("duration", "60s")), progress=heard.append)
    assert heard == sorted(heard)
    assert all(0.0 <= f <= 1.0 for f in heard)


def test_what_progress_raises_cancels_the_run(dumbbell: bloatlab.Scenario):
    class EnoughError(Exception):
        pass

    def enough(_fraction: float) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        bloatlab.run(dumbbell.with_sets(("duration", "600s")), progress=enough)


def test_the_gil_is_free_while_a_world_runs(dumbbell: bloatlab.Scenario):
    done = threading.Event()
    counted = 0

    def work() -> None:
        bloatlab.run(dumbbell.with_sets(("duration", "2000s")))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


# ------------------------------------------------------------------------------------------------------------- folders


def test_folder_there_and_back(result: bloatlab.Result, tmp_path: Path):
    for form in results.FORMS:
        folder = bloatlab.save(result, tmp_path / form, form=form)
        back = bloatlab.open_result(folder)
        assert back.summary == result.summary
        assert (back.scenario, back.seed) == (result.scenario, result.seed)
        for name, frame in result.tables.items():
            if frame.height or form == "parquet":  # in JSON, a table without rows has no columns
                assert back.table(name).shape == frame.shape, name


def test_equal_runs_leave_equal_bytes_but_for_provenance(dumbbell: bloatlab.Scenario, tmp_path: Path):
    times = {"a": 1.0, "b": 2.0}
    folders = [bloatlab.save(bloatlab.run(dumbbell), tmp_path / name, seconds=s) for name, s in times.items()]
    assert digest(folders[0]) == digest(folders[1])
    files = {p.relative_to(folders[0]) for p in folders[0].rglob("*") if p.is_file()}
    differ = {str(p) for p in files if (folders[0] / p).read_bytes() != (folders[1] / p).read_bytes()}
    assert differ == {"provenance.json"}
    other = bloatlab.save(bloatlab.run(dumbbell, seed=8), tmp_path / "c")
    assert digest(other) != digest(folders[0])


def test_saving_again_in_another_form_leaves_one_form(result: bloatlab.Result, tmp_path: Path):
    bloatlab.save(result, tmp_path, form="csv")
    bloatlab.save(result, tmp_path, form="parquet")
    assert {p.suffix for p in (tmp_path / "tables").iterdir()} == {".parquet"}


def test_what_is_no_result_is_said_so(tmp_path: Path):
    with pytest.raises(results.ResultError, match=r"not a result folder: scenario\.resolved\.json is missing"):
        bloatlab.open_result(tmp_path)
    (tmp_path / results.SCENARIO).write_text("{")
    with pytest.raises(results.ResultError, match="not a result folder"):
        bloatlab.open_result(tmp_path)


def test_a_table_without_a_column_is_refused(scenario_file: Path, tmp_path: Path):
    folder = results.save(bloatlab.run(bloatlab.load(scenario_file, [("duration", "1s")])), tmp_path / "r", form="csv")
    table = folder / "tables" / "sojourn_histogram.csv"
    table.write_text(table.read_text().replace("upper_ms", "named_ms", 1))
    with pytest.raises(results.ResultError, match="the table sojourn_histogram has no column upper_ms"):
        bloatlab.open_result(folder)


# ---------------------------------------------------------------------------------------------------- other functions


def test_emodel_is_the_formula_of_the_paper():
    r, mos = emodel(0.0911, 0.0)
    wanted = 94.2 - 30.0 * np.log(1.0 + 15.0 * 0.0911)
    assert r == pytest.approx(wanted)
    assert mos == pytest.approx(3.5, abs=0.05)  # the MOS of C04 in Table 7 of CableLabs 2012
    assert emodel(0.0, 177.3)[0] == pytest.approx(94.2 - 0.024 * 177.3)
    assert emodel(0.0, 200.0)[0] == pytest.approx(94.2 - 0.024 * 200.0 - 0.11 * 22.7)


def test_ctrl_c_stops_a_run_in_a_moment(scenario_file: Path):
    code = (
        "import os, signal, sys, threading, bloatlab\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"s = bloatlab.load({str(scenario_file)!r}, [('duration', '1000000s'), ('record.interval', '1000s')])\n"
        "try:\n    bloatlab.run(s)\nexcept KeyboardInterrupt:\n    sys.exit(5)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=20, check=False).returncode == 5


def test_summary_is_plain_json(result: bloatlab.Result):
    json.dumps(result.summary, allow_nan=False)


# --------------------------------------------------------------------------------------- arguments of run, and tables


def test_run_takes_a_path_and_values_over_it(dumbbell: bloatlab.Scenario, scenario_file: Path):
    named = bloatlab.run(str(scenario_file))
    assert named.summary == bloatlab.run(dumbbell).summary
    sets = {"link.up.rate": "2mbit", "link.up.queue": {"droptail": {"limit": "20p"}}, "app.file.tcp": "reno", "seed": 3}
    pairs = [("link.up.rate", "2mbit"), ("link.up.queue", '{ droptail = { limit = "20p" } }'), ("app.file.tcp", "reno"),
             ("seed", "3")]  # fmt: skip
    wanted = bloatlab.load(scenario_file, pairs)
    assert bloatlab.load(scenario_file, sets) == wanted != dumbbell
    for given in (scenario_file, str(scenario_file), dumbbell, dumbbell.data):
        assert bloatlab.run(given, sets=sets).scenario == wanted
    with pytest.raises(bloatlab.ScenarioError, match=r"link\.up"):
        bloatlab.run(scenario_file, sets={"link.up.rte": "2mbit"})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_are_named_by_their_path(dumbbell: bloatlab.Scenario, value: float):
    name = "NaN Infinity"  # which is a name, not a number
    assert bloatlab.scenario.from_dict({**dumbbell.data, "name": name}).name == name
    up = {**dumbbell.data["link"]["up"], "loss": value}
    given = {**dumbbell.data, "name": name, "link": {**dumbbell.data["link"], "up": up}}
    with pytest.raises(
        bloatlab.ScenarioError, match=rf"link\.up\.loss: {value} is not valid; expected a finite number"
    ):
        bloatlab.run(given)


def test_values_that_toml_has_no_place_for_are_refused():
    with pytest.raises(bloatlab.ScenarioError, match=r"link\.up\.rate: None: a scenario cannot have a NoneType"):
        bloatlab.parse(DUMBBELL, sets={"link.up.rate": None})
    with pytest.raises(bloatlab.ScenarioError, match="sets: 5 is not valid; expected a path"):
        bloatlab.parse(DUMBBELL, sets={5: 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("given", ["", [], b"s", None, {"duration": b"1s"}, {(1, 2): 3}, {np.int64(1): 3}])
def test_what_is_no_scenario_gets_one_line(given: Any):
    with pytest.raises(
        bloatlab.ScenarioError,
        match=r'scenario: .*("" is not valid|; expected a Scenario|have a bytes|keys must be str)',
    ):
        bloatlab.run(given)


def test_tables_of_two_runs_concatenate(dumbbell: bloatlab.Scenario):
    """`one` has empty tables: only BBR has rows in `model_series`, and only pings have rows in `pings`."""
    one = bloatlab.run(dumbbell)
    two = bloatlab.run(dumbbell, sets={"app.file.tcp": "bbr", "app.voip.traffic": {"ping": {}}})
    assert one.table("model_series").is_empty()
    assert one.table("pings").is_empty()
    for name in one.tables:
        both = pl.concat([one.table(name), two.table(name)])
        assert both.height == one.table(name).height + two.table(name).height
        assert both.schema == two.table(name).schema


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("apps", ["some", "none"])
def test_tables_keep_their_types_in_a_folder(
    dumbbell: bloatlab.Scenario, tmp_path: Path, form: results.Form, apps: str
):
    data = dumbbell.data if apps == "some" else {**dumbbell.data, "app": {}}
    run = bloatlab.run(data, sets={"duration": "1s"})
    opened = results.open_result(results.save(run, tmp_path / form, form=form))
    assert {n: f.schema for n, f in opened.tables.items()} == {n: f.schema for n, f in run.tables.items()}


def test_repr_of_a_result_is_a_summary(result: bloatlab.Result):
    first, *lines = repr(result).splitlines()
    assert first == "<Result dumbbell: seed 7, 5 s"
    up = result.summary["links"]["up"]
    assert any(f"link up: {up['delivered_bytes'] / 1e6:.3f} MB, {up['dropped_packets']} dropped" in x for x in lines)
    assert any(f"MOS {result.summary['apps']['voip']['voip']['mos']:.2f}" in x for x in lines)
    assert len(repr(result)) < 1000


def test_to_pandas(result: bloatlab.Result):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = result.to_pandas("queue_series")
    assert list(frame.columns) == result.table("queue_series").columns
    assert len(frame) == result.table("queue_series").height
    packets = result.table("flows").to_pandas()["packets"].tolist()
    assert packets == result.table("flows")["packets"].to_list()


def test_to_pandas_without_pandas_says_what_to_install(result: bloatlab.Result, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_pandas: pandas is not installed: pip install pandas pyarrow$"):
        result.to_pandas("links")


@pytest.mark.parametrize(("word", "control"), [("bbr", "bbr"), ("reno", "reno"), ("cubic", "cubic")])
def test_a_congestion_control_is_a_stack(dumbbell: bloatlab.Scenario, word: str, control: str):
    """The name of a congestion control, as in `tcp = "bbr"`, selects linux-6 with this congestion control."""
    plain = bloatlab.run(dumbbell, sets={"app.file.tcp": word})
    own = bloatlab.run(
        dumbbell, sets={"tcp.own": {"preset": "linux-6", "congestion_control": control}, "app.file.tcp": "own"}
    )
    assert plain.summary == own.summary
