"""The playground's headline, sentence and titles: what they say about calls, queues and runs that differ."""

from __future__ import annotations

from typing import Any

import pytest

from playground import HOME, NASTY, Open, held, settled, until

UPLOAD = HOME["app"][NASTY]
CALL = HOME["app"]["call"]
UP, DOWN = HOME["link"]["up"], HOME["link"]["down"]


def home(apps: dict[str, Any], *, up: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Returns the scenario HOME with other applications and with changed keys of its link `up`."""
    return {**HOME, "name": "home", "link": {"up": {**UP, **(up or {})}, "down": DOWN}, "app": apps, **more}


def without(link: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in link.items() if name != key}


FLOW = {"max_sustained_rate": "5mbit"}
LATE: dict[str, Any] = {"record": {"warm_up": "5s"}}
BACK = {"from": "net", "to": ["home"], "traffic": {"voip": {}}}
DOWNLOAD = {"from": "home", "to": ["net"], "traffic": {"ftp": {"direction": "down"}}}
MANY = {"from": "home", "to": ["net"], "traffic": {"ftp": {"flows": 30}}}
CBR = {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "2mbit"}}}
BLOCKED = "Queue of link up (droptail, 250 packets): no packet gets through"

#: A scenario, words in the headline, and words in the sentence below it.
SAID: dict[str, tuple[dict[str, Any], str, str]] = {
    "lost on the wire": (home({"call": CALL}, up={"loss": 0.2}), "up: link up itself loses 2", "packets do not wait"),
    "lost on two links": (
        {
            **home({"call": CALL}, up={"loss": 0.1}),
            "link": {
                "up": {**UP, "to": "middle", "loss": 0.1},
                "next": {**UP, "from": "middle", "loss": 0.1},
                "down": DOWN,
            },
        },
        "up: link up itself loses packets and link next itself loses packets. 2",
        "packets do not wait",
    ),
    "datagrams the other way": (
        home({"call": {**CALL, "traffic": {"voip": {"direction": "down"}}}, "cbr": CBR}),
        "The call is clear: nothing else uses the link, so its packets do not wait in its queue.",
        "packets do not wait",
    ),
    "a modem": (
        {**home({"call": CALL}), "link": {"up": {**without(UP, "rate"), "docsis31": {"flow": FLOW}}, "down": DOWN}},
        "The call is clear: nothing else uses the link, so its packets wait only for the link itself.",
        "packets wait",
    ),
    "a wire longer than the run": (
        home({"cbr": CBR}, up={"rate": "1mbit", "delay": "3s"}, duration="1s"),
        "Whatever uses this link reacts slowly: each packet waits",
        "packets wait",
    ),
    "no queue in the scenario": (
        {**home({"u": UPLOAD}), "link": {"up": without(UP, "queue"), "down": DOWN}},
        "in the queue of link up (droptail, 1000 packets).",
        "Queue of link up (droptail, 1000 packets): packets wait",
    ),
    "blocked": (
        home({"call": CALL, "u": UPLOAD}, up={"rate": "20"}, **LATE),
        "The call breaks up: no packet gets through the queue of link up (droptail, 250 packets).",
        BLOCKED,
    ),
    "blocked, without a call": (home({"u": UPLOAD}, up={"rate": "2"}), f"{BLOCKED}.", BLOCKED),
    "no packets": (
        home({}),
        "Queue of link up (droptail, 250 packets): no packet arrives.",
        "(droptail, 250 packets): no packet arrives. All",
    ),
    "a queue per flow": (
        home({"call": CALL, "many": MANY}, up={"rate": "2mbit", "queue": {"fq_codel": {"limit": "1000p"}}}),
        "its packets wait for their turn (fq_codel serves the queues of all flows one after another). Half",
        "transfers get 1.",
    ),
    "the worst call": (
        {
            **home({"call a": CALL, "call b": BACK, "d": DOWNLOAD}),
            "link": {"up": UP, "down": {**DOWN, "rate": "5mbit", "queue": {"codel": {"target": "200ms"}}}},
        },
        "The worst call, “call b”, breaks up: its packets wait behind those of “d” in one queue (codel)",
        "the worst call has MOS 1.",
    ),
    "another name": (
        home({"talk": CALL, "u": UPLOAD}, up={"queue": "fq_codel"}),
        "The call “talk” is clear although “u” uses the link: fq_codel gives",
        "the call has MOS 4.",
    ),
    "not measured": (
        home({"call": CALL}, duration="1ms"),
        "no packet arrives.",
        "the call is not measured. All numbers",
    ),
    "a short run": (home({"call": CALL}, duration="1ms"), "no packet arrives.", "of the whole run of 1 ms."),
    "both ways": (home({"u": UPLOAD, "d": DOWNLOAD}), "", " Mbit/s down. All"),
    "all digits": (home({"u": UPLOAD}, up={"queue": {"droptail": {"limit": "10240p"}}}), "10240 packets", "10240 p"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_run(name: str, page: Open):
    scenario, headline, sentence = SAID[name]
    found = page(scenario)
    assert headline in found.page.inner_text("#why")
    assert sentence in found.page.inner_text("#sentence")


def test_an_unmeasured_call_has_no_mos(page: Open):
    card = page(home({"call": CALL}, duration="1ms")).page.inner_text('[data-card="call"]')
    assert card.split("\n\n") == ["call: quality", "MOS –", "not measured"]


def titled(found: Any, *heads: str) -> None:
    """Waits until the runs have these titles, in the table and above their packets.

    The stage waits 120 ms before it shows a change; until then, it has the titles of the earlier runs.
    """
    shown = "[...document.querySelectorAll('.differences thead th')].slice(1).map((th) => th.innerText)"
    until(found, f"JSON.stringify({shown}) === JSON.stringify({list(heads)})")
    assert found.page.locator(".pane .of b").all_inner_texts() == list(heads)


def test_titles_of_runs_say_what_differs(page: Open):
    found = page(home({"call": CALL, "u": UPLOAD}, up={"queue": "fq_codel"}))
    settled(found, lambda: found.page.evaluate("bloatlab.set('link.up.queue.fq_codel.flows', 8), bloatlab.run()"))
    found.page.click("#pin")
    settled(found, lambda: found.page.evaluate("bloatlab.set('link.up.queue.fq_codel.flows'), bloatlab.run()"))
    titled(found, "fq_codel, flows default", "pinned: fq_codel, flows 8")
    # a discipline without parameters is the same whether given as a word or as a table
    found.page.select_option("select[aria-label='run another discipline beside']", "fq_codel")
    titled(found, "fq_codel, flows default", "pinned: fq_codel, flows 8", "fq_codel, flows default")
    found.page.click("#pin")
    titled(found, "fq_codel", "fq_codel")


def test_titles_name_the_application_or_the_link_that_differs(page: Open):
    found = page(home({"call": CALL}, up={"queue": "fq_codel"}))
    found.page.click("#pin")
    settled(found, lambda: found.page.get_by_role("button", name="+ upload").click())
    titled(found, "fq_codel, with ftp", "pinned: fq_codel, without ftp")
    found.page.click("#pin")
    found.page.click("#pin")
    rtt = found.page.locator('[data-path="rtt"] input[type=text]')
    settled(found, lambda: (rtt.fill("100ms"), rtt.press("Tab")))
    titled(found, "fq_codel, down delay 50ms, up delay 50ms", "pinned: fq_codel, down delay 10ms, up delay 10ms")
    servers = "bloatlab.set('app.ftp.to', ['net', 'more'])"
    more = "bloatlab.set('link.more', {from: 'home', to: 'more', rate: '1mbit', both_ways: true})"
    found.page.click("#pin")
    found.page.click("#pin")
    settled(found, lambda: found.page.evaluate(f"{servers}, {more}, bloatlab.set('app.call'), bloatlab.run()"))
    titled(found, "fq_codel, ftp to net and more, with more, …", "pinned: fq_codel, ftp to net, without more, …")


def test_a_second_upload_has_the_hosts_and_the_start_of_the_first(page: Open):
    found = page(home({"call": CALL, "late": {**UPLOAD, "start": "5s"}}))
    settled(found, lambda: found.page.get_by_role("button", name="+ upload").click())
    added = held(found)["scenario"]["app"]["ftp"]
    assert {key: added[key] for key in ("from", "to", "start")} == {"from": "home", "to": ["net"], "start": "5s"}


def test_another_queue_in_the_reverse_direction_is_the_only_difference(page: Open):
    line = {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "queue": {"droptail": {"limit": "100p"}}}
    get = {"from": "net", "to": ["home"], "traffic": {"ftp": {}}}
    found = page({"duration": "10s", "link": {"up": {**line, "both_ways": True}}, "app": {"get": get}})
    found.page.select_option("#f-look", "~up")
    found.page.click("#pin")
    settled(found, lambda: found.page.evaluate("bloatlab.set('link.up.queue', 'fq_codel'), bloatlab.run()"))
    until(found, "[...document.querySelectorAll('caption')].some((c) => c.textContent.startsWith('What differs'))")
    captions = found.page.locator("caption").all_text_contents()
    assert "What differs, with the same load and seed" in captions


def test_a_stage_with_many_flows_stays_in_its_box_and_names_them_once(page: Open):
    found = page(home({"call": CALL, "many": {**MANY, "traffic": {"ftp": {"flows": 40}}}}, up={"queue": "fq_codel"}))
    until(found, "document.querySelectorAll('#stage .legend span').length > 4")
    assert found.page.locator("#stage .legend span").all_inner_texts()[:3] == ["call", "many", "ACK: data has arrived"]
    found.page.get_by_role("button", name="longest queue").click()
    read = "document.getElementById('stage').stage.read().panes[0]"
    until(found, f"{read}.packets.filter(p => p.kind === 'waiting').length > 400")
    waiting = found.page.evaluate(f"{read}.packets.filter(p => p.kind === 'waiting' && p.link === 'up').map(p => p.y)")
    # the upper edge of the queue's box is at 24 px; a packet that moves in may be one cell above it
    assert min(waiting) > 18
