"""Writes one run of the lab in the formats of the lab's own programs.

q.txt          time,packets                                       monitor.py, every 0.1 s
ping.txt       64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=4.21 ms      ping
cwnd.txt       time source destination length snd_nxt snd_una cwnd ssthresh window srtt     tcp_probe, every 0.1 s
download.txt   seconds of a fetch                                 curl -w %{time_total}
q, rtt, cwnd-iperf, download, and lab with all four: plots, each as .svg and .png

Some fields of cwnd.txt are 0, because a run has no value for them: the segment length, the sequence numbers, and the
window offered by the receiver. Windows are in segments, srtt in ms. q.txt counts segments of MTU size.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bloatlab.plots import figure, save_figure
from bloatlab.simulation import Result
from bloatlab.studies.csc458.build import LONG, Lab
from bloatlab.studies.csc458.measure import fetch_times, series
from bloatlab.studies.csc458.pages import MSS, lab_panels

H1, H2 = "10.0.0.1", "10.0.0.2"

#: iperf's port, by which the lab's plot_tcpprobe.py recognises the flow. The client's port is arbitrary.
PORT, CLIENT_PORT = 5001, 40_000

#: The slow start threshold reported by Linux before the first loss.
NO_THRESHOLD = 2_147_483_647

_PLOTS = ("q", "cwnd-iperf", "rtt", "download")


def write_lab(result: Result, folder: Path, packets: int | None, lab: Lab) -> None:
    """Writes the lab's four text files and their plots. Raises `OSError` if the folder cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = series(result)
    (folder / "q.txt").write_text(_queue(frames["queue"]), encoding="ascii")
    (folder / "ping.txt").write_text(_pings(result), encoding="ascii")
    (folder / "cwnd.txt").write_text(_windows(result), encoding="ascii")
    (folder / "download.txt").write_text("".join(f"{took:.3f}\n" for took in fetch_times(result)), encoding="ascii")
    panels = lab_panels(frames, packets, lab)
    for name, panel in zip(_PLOTS, panels, strict=True):
        _, _ = save_figure(figure([panel], columns=1, size=(8.0, 3.0)), folder / name)
    save_figure(figure(panels, columns=2), folder / "lab")


def _queue(frame: pl.DataFrame) -> str:
    return "".join(f"{t:.6f},{packets:.0f}\n" for t, packets in frame.iter_rows())


def _pings(result: Result) -> str:
    frame = result.table("pings").sort("t_s").with_row_index("number", offset=1)
    head = f"PING {H2} ({H2}) 56(84) bytes of data.\n"
    known = frame.filter(pl.col("rtt_ms").is_not_null() & pl.col("rtt_ms").is_not_nan())
    lines = (
        f"64 bytes from {H2}: icmp_seq={number} ttl=64 time={rtt:.{_digits(rtt)}f} ms\n"
        for number, rtt in known.select("number", "rtt_ms").iter_rows()
    )
    return head + "".join(lines)


def _digits(rtt_ms: float) -> int:
    """Returns the number of decimal places that iputils prints for a round trip."""
    return 3 if rtt_ms < 1 else 2 if rtt_ms < 10 else 1 if rtt_ms < 100 else 0


def _windows(result: Result) -> str:
    forward = (pl.col("app") == LONG) & (pl.col("direction") == "forward") & (pl.col("cwnd_bytes").fill_nan(0) > 0)
    frame = result.table("flow_series").sort("t_s").filter(pl.int_range(pl.len()).over("app", "direction") % 10 == 0)
    lines: list[str] = []
    for t, cwnd, threshold, srtt in (
        frame.filter(forward).select("t_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms").iter_rows()
    ):
        # there is no threshold before the first loss, and no smoothed round trip before the first sample
        segments = NO_THRESHOLD if threshold is None or threshold != threshold else round(threshold / MSS)  # noqa: PLR0124
        ms = 0 if srtt is None or srtt != srtt else round(srtt)  # noqa: PLR0124
        ends = f"{H1}:{CLIENT_PORT} {H2}:{PORT}"
        lines.append(f"{t:.9f} {ends} 0 0x0 0x0 {round(cwnd / MSS)} {segments} 0 {ms}\n")
    return "".join(lines)
