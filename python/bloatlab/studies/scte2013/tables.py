"""The tables of this study: what each experiment gave, and what the paper leaves open."""

from __future__ import annotations

from bloatlab.studies.claims import Runs
from bloatlab.studies.scte2013.experiments import Experiment
from bloatlab.studies.scte2013.parameters import UNKNOWNS
from bloatlab.studies.tables import medians_table
from bloatlab.tables import TextCell, TextTable

#: What stands above a column, and its digits.
HEADS: dict[str, tuple[str, int]] = {
    "gamer_mean_ms": ("gamer ms", 1),
    "gamer_p50_ms": ("gamer p50", 1),
    "gamer_p99_ms": ("gamer p99", 1),
    "ftp_mean_ms": ("FTP ms", 1),
    "ftp_p99_ms": ("FTP p99", 1),
    "rate_mbit": ("Mbit/s", 3),
    "rate_share": ("of Tmax", 3),
    "goodput_mbit": ("goodput", 3),
    "loss_percent": ("loss %", 2),
    "drop_percent": ("dropped %", 2),
    "drops_per_s": ("drops/s", 2),
    "timeouts": ("timeouts", 0),
    "cov_total": ("CoV all", 2),
    "cov_session": ("CoV session", 2),
    "fairness": ("fairness", 2),
    "sojourn_mean_ms": ("queue ms", 1),
    "sojourn_p99_ms": ("queue p99", 1),
    "background_share": ("LEDBAT's share", 2),
    "burst_p50_s": ("burst p50 s", 2),
    "burst_p99_s": ("burst p99 s", 2),
    "burst_done": ("whole", 0),
    "short_p50_s": ("transfer p50 s", 3),
    "short_p99_s": ("transfer p99 s", 2),
    "recover_s": ("recovers in s", 1),
    "worst_ms": ("worst ms", 0),
    "rate_up_share": ("of 20 Mbit/s", 2),
    "video_mbit": ("video Mbit/s", 2),
    "video_switches": ("switches", 0),
    "video_stalls": ("stalls", 0),
    "video_stalled_s": ("stalled s", 1),
    "swarm_mbit": ("swarm Mbit/s", 2),
    "call_p50_ms": ("call p50", 1),
    "call_p99_ms": ("call p99", 1),
    "call_lost_percent": ("call lost %", 2),
    "call_mos": ("call MOS", 2),
    "download_mbit": ("download", 2),
    "upload_mbit": ("upload", 2),
    "gamer_drops_late": ("gamer drops", 0),
    "gamer_drops": ("gamer drops", 0),
    "gamer_message_ms": ("message ms", 0),
    "goodput_mbit_ftp10": ("RTT 10", 2),
    "goodput_mbit_ftp100": ("RTT 100", 2),
    "ftp_before_ms": ("before ms", 0),
    "ftp_after_ms": ("after ms", 0),
    "fall_ratio": ("ratio", 2),
    "ftp_p1_ms": ("FTP p1", 1),
    "ftp_share_half_to_one_s": ("0.5 to 1 s", 2),
}


def experiment_table(experiment: Experiment, runs: Runs) -> TextTable:
    """Medians over seeds, the central 80 % as the hint."""
    rows = [([_text(v) for v in at.values()], run) for at, run in experiment.places()]
    columns = [(column, *HEADS[column]) for column in experiment.columns]
    heads = [axis.replace("_", " ") for axis in experiment.axes]
    note = "Medians over seeds. The paper publishes no values for these runs."
    return medians_table(f"{experiment.name}: {experiment.what}", runs, rows, columns, heads, note)


def _text(value: object) -> str:
    """A value of an axis for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def unknowns_table() -> TextTable:
    """What the paper does not say and what we took."""
    rows = [[TextCell(text) for text in (u.what, str(u.ours), u.why, ", ".join(map(str, u.others)))] for u in UNKNOWNS]
    columns = ["what the paper leaves open", "ours", "why", "sensitivity runs"]
    return TextTable("Free parameters, one set for the whole study", columns, rows, left=4)
