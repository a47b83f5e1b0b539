"""`bloatlab recommend` refuses invalid questions and files in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bloatlab.advice import AdviceError, asked
from bloatlab.advice import catalogue as catalogue_of
from bloatlab.cli.main import call
from judged import SMALL, asking


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"up": 5e6}, '--up 5000000.0: is not a string, such as "10mbit"'),
        ({"rtt": 0.04}, '--rtt 0.04: is not a string, such as "20ms,100ms"'),
        ({"rtt": ["20ms", "40ms"]}, "--rtt ['20ms', '40ms']: is not a string"),
        ({"burst": 10}, '--burst 10: is not a string, such as "10MB"'),
    ],
)
def test_numbers_without_a_unit_are_refused(words: dict[str, Any], told: str):
    given: dict[str, Any] = {"up": "5mbit", "rtt": "40ms", "peak": "10mbit", "burst": "1MB"}
    with pytest.raises(AdviceError) as refused:
        asked(device="docsis3.0", **(given | words))
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[measure.x]\nkind = "voip"\nvalue = "voip.mos"\nbetter = "more"\ngood = 1\nbad = 4\n',
            "good 1 is not more than bad 4",
        ),
        ('[measure.x]\nvalue = "voip.mos"\nbetter = "more"\ngood = 4\nbad = 1\n', 'kind = "voip"'),
        ('[measure.x]\nkind = "voip"\nvalue = "v"\nbetter = "mor"\ngood = 4\nbad = 1\n', 'did you mean "more"?'),
        ('[measure.x]\nkind = "voip"\nvalue = "v"\nbetter = "less"\ngood = 0\nbad = 1\nscale = "log"\n', "above 0"),
        ("[measure]\n", "measure: none"),
        (
            '[measure.x]\nkind = "voip"\nvalue = "voip.nix"\nbetter = "more"\ngood = 4\nbad = 1\n',
            'value: voip.nix is not a number of an application (bloatlab list measures); did you mean "voip.',
        ),
        (
            '[measure.x]\nkind = "rpm"\nvalue = "rpm.confidence"\nbetter = "more"\ngood = 4\nbad = 1\n',
            "value: rpm.confidence is not a number of an application (bloatlab list measures)",
        ),
        (
            '[measure.x]\nkind = "voip"\nvalue = "voip.mos"\nless = "v"\nbetter = "more"\ngood = 4\nbad = 1\n',
            "less: v is",
        ),
        (
            '[measure.x]\nlink = "up"\nvalue = "share"\nbetter = "more"\ngood = 4\nbad = 1\n',
            'share is not a number of a link (bloatlab list measures); did you mean "share_percent"?',
        ),
        (
            '[measure.x]\nkind = "voip"\nvalue = "voip.mos"\nbetter = "more"\ngood = 4\nbad = 1\nweight = -1\n',
            "weight x: -1 is not between 0 and 1000000",
        ),
        (
            '[measure.x]\nkind = "voip"\nvalue = "voip.mos"\nbetter = "more"\ngood = 4\nbad = 1\ndigits = -1\n',
            "mine: measure.x: digits: -1 is not between 0 and 9",
        ),
    ],
)
def test_a_bad_objective_is_one_line(text: str, told: str, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(AdviceError) as refused:
        catalogue_of.objective(str(tmp_path / "mine.toml"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[app.x]\nfrom = "a"\nto = ["far"]\ntraffic = "voip"\n', "app.x: expected to"),
        ('[app.x]\nto = ["far"]\ntraffic = "voipp"\n', 'did you mean "voip"?'),
        ('[app.x]\nto = ["yonder"]\ntraffic = "voip"\n', "yonder"),
        ("seconds = 0\n[app]\n", "seconds is 1 to 36000"),
        ("[link.x]\n", "without applications"),
    ],
)
def test_a_bad_load_is_one_line(text: str, told: str, small: Path, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(AdviceError) as refused:
        asked(up="2mbit", rtt="40ms", device=str(small), load=str(tmp_path / "mine.toml"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--up", "10M"], '--up "10M" is not valid; expected a rate in bits per second; write "10mbit"'),
        (["--up", "1bit"], "--up 1bit: is not between 64kbit and 10gbit"),
        (["--up", "0"], "--up 0: is not between 64kbit and 10gbit"),
        (["--down", "0"], "--down 0: is not between 64kbit and 100gbit"),
        (["--peak", "4mbit", "--burst", "0"], "--burst 0: is not between 1522B and 1GB"),
        (["--peak", "4mbit", "--burst", "2GB"], "--burst 2GB: is not between 1522B and 1GB"),
        (["--rtt", "50"], "--rtt 50 has no unit"),
        (["--rtt", "200ms..20ms"], "begins with the shorter round trip"),
        (["--rtt", "1ms"], "is not between 4 ms and 5 s"),
        (["--rtt", "1ms..2ms..3ms"], "a round trip (50ms), a range (20ms..200ms) or a list"),
        (["--peak", "20mbit"], "--peak and --burst"),
        (["--peak", "1mbit", "--burst", "1MB"], "--peak 1mbit: is not above --up 2mbit"),
        (["--peak", "4mbit", "--burst", "5x"], '--burst "5x" is not valid; expected a size'),
        (["--device", "docsis3"], 'no such device; did you mean "docsis3.'),
        (["--device", "no.toml"], "no.toml: no such file"),
        (["--load", "hom"], 'no such load; did you mean "home"?'),
        (["--objective", "balance"], 'did you mean "balanced"?'),
        (["--weight", "calls=2"], 'no such measure in balanced; did you mean "call"?'),
        (["--weight", "call"], "expected measure=number"),
        (["--weight", "call=-1"], "weight call: -1 is not between 0 and 1000000"),
        (["--weight", "call=1e308"], "weight call: 1e+308 is not between 0 and 1000000"),
        (["--weight", "call=nan"], "weight call: nan is not between 0 and 1000000"),
        (
            ["--weight", "game=3"],
            "weight game: load home has no application for this measure; expected one of call, pages",
        ),
        (
            [
                "--weight",
                "call=0",
                "--weight",
                "pages=0",
                "--weight",
                "upload=0",
                "--weight",
                "game=0",
                "--weight",
                "wait=0",
                "--weight",
                "download=0",
            ],
            "all are 0",
        ),
        (["--objective", "scte2013", "--load", "home"], "wants messages, and load home has none of these"),
        (["--seeds", "1"], "seeds"),
        (["--seeds", "5", "--quick", "--all"], "--seeds 5: has no effect with --quick, which runs one seed"),
        (["--runs", "3", "--quick", "--all"], "--runs 3: has no effect with --quick, which runs one seed"),
        (["--seconds", "0"], "--seconds 0: is not between 1 and 36000"),
    ],
)
def test_bad_input_is_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    given = {"--up": "2mbit", "--rtt": "40ms", "--device": "docsis3.0"}
    pairs = list(zip(words[::2], words[1::2], strict=True))
    flat = [w for k, v in given.items() if k not in dict(pairs) for w in (k, v)] + [w for p in pairs for w in p]
    assert call(["recommend", *flat]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line and not line.startswith("Try ")]) == 1


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("today =", "todya =", "today is missing"),
        ('"droptail 500ms"', '"drop-tail 500ms"', "is not a discipline and a size"),
        ('link = "modem"', 'link = "modem31"\ntransmit = "32p"', 'transmit: has no effect with link = "modem31"'),
        ('link = "modem"', 'link = "radio"', "link: radio is not one of modem, modem31, line"),
        ('["buffer-control"]', '["tlv"]', "prints: tlv is not one of"),
        ('words = "drop-tail"', 'words = "drop-tail"\ncolour = "red"', "colour: no such key"),
        ("droptail = {", "dropptail = {", 'did you mean "droptail"?'),
        ('["50ms", "500ms"]', '["50ms", "5x"]', "is not valid; expected"),
        ('["50ms", "500ms"]', '["50ms", "0ms"]', "buffers: 0ms is not above 0"),
        ('["50ms", "500ms"]', '["50ms", "0p"]', "buffers: 0p is not valid; expected at least 2p"),
        ('["50ms", "500ms"]', '["50ms", "1p"]', "buffers: 1p is not valid; expected at least 2p"),
        ('["50ms", "500ms"]', f'["50ms", "{"9" * 4400}p"]', "99 is not above 0 and at most 1 TB"),
        ('["50ms", "500ms"]', '["9p"]\nleast = "15KB"', "buffers: 9p is not valid; expected at least 10p"),
        ('["50ms", "500ms"]', '["50ms"]\nleast = "5000GB"', "least: 5000GB is not above 0 and at most 1 TB"),
        ('["50ms", "500ms"]', '["50ms"]\nleast = 15000', "small: discipline 1: least: 15000 is not a string"),
        ('["50ms", "500ms"]', '["50ms", "5000GB"]', "buffers: 5000GB is not above 0 and at most 1 TB"),
        ('"droptail 500ms"', '"droptail 5x"', 'small: today: "5x" is not valid; expected a size'),
        ('"droptail 500ms"', '"droptail 999999999999p"', "small: today: 999999999999p is not above 0 and at most 1 TB"),
        (
            '"droptail 500ms"',
            '"droptail 500ms"\nstandard = ["droptail 9e9bdp"]',
            'small: standard: "9e9bdp" is not valid; expected',
        ),
        ('["50ms", "500ms"]', '["50ms", "1.2.3bdp"]', 'buffers: "1.2.3bdp" is not valid; expected'),
        ('"{bytes}B"', '"100p"', "small: discipline 1: queue: has neither {bytes} nor {packets}"),
        ('["50ms", "500ms"]', '"50ms"', "buffers: 50ms is not a list of texts"),
        ("buffers =", "settable = false\nnote = 'x'\nbuffers =", "at least one settable discipline"),
        ("[[discipline]]", "discipline = [1]\n[x]", "is not a table"),
        ("words =", "words = = ", "not valid TOML"),
        (
            "buffers =",
            "aqm_target_ms = 256\nbuffers =",
            "small: discipline 1: aqm_target_ms: 256 is not between 0 and 255",
        ),
        ("buffers =", "aqm_target_ms = -1\nbuffers =", "aqm_target_ms: -1 is not between 0 and 255"),
    ],
)
def test_a_bad_device_is_one_line(small: Path, was: str, now: str, told: str, capsys: pytest.CaptureFixture[str]):
    text = small.read_text()
    assert was in text
    small.write_text(text.replace(was, now, 1))
    assert call(asking(small)) == 2
    err = capsys.readouterr().err
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_setting_of_today_below_the_least_is_refused(small: Path):
    text = small.read_text().replace("droptail 500ms", "droptail 5p").replace("buffers", 'least = "15KB"\nbuffers')
    small.write_text(text)
    with pytest.raises(AdviceError, match="small: today: 5p is not valid; expected at least 10p"):
        asked(up="5mbit", rtt="40ms", device=str(small))


@pytest.mark.parametrize("device", catalogue_of.names("device"))
@pytest.mark.parametrize("down", ["64kbit", "100mbit"])
def test_every_setting_of_a_device_is_valid_at_the_lowest_rate(device: str, down: str):
    # just below a limit of 14400 bytes, tc finds no weight for RED, because min is below 1.2 average packets
    asked(up="64kbit", rtt="4ms", down=down, device=device)
