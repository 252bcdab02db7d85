"""hey-echo stats: how long the stages of recent turns took, and what woke Echo."""

import argparse
from typing import Any

from firmware_app.cli.output import as_json, table
from firmware_app.cli.service import ask_service, settings
from firmware_app.errors import UsageError


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("stats", help="how long the stages of recent turns took")
    parser.add_argument(
        "what", nargs="?", choices=("turns", "wake"), default="turns", help="default: turns"
    )
    parser.add_argument("--last", type=int, default=100, metavar="N", help="turns (default 100)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.traces import KEPT

    if not 1 <= arguments.last <= KEPT:
        raise UsageError(
            "usage", f"--last {arguments.last} is not possible.", f"Name 1 to {KEPT} turns."
        )
    wake = arguments.what == "wake"
    report = ask_service("stats.wake" if wake else "stats", last=arguments.last)
    if report is None:
        report = _from_database(arguments.last, wake=wake)
    if arguments.json:
        as_json(report)
    elif wake:
        _show_wakes(report)
    else:
        _show(report)
    return 0


def _from_database(last: int, *, wake: bool) -> dict[str, Any]:
    from firmware_app.folders import state_dir
    from firmware_app.state import read_traces, state_file
    from firmware_app.traces import report, wake_report

    traces = read_traces(state_file(state_dir(settings())), last)
    return wake_report(traces) if wake else report(traces)


def _show_wakes(report: dict[str, Any]) -> None:
    if not report["wakes"]:
        print("No wake-ups yet.")
        return
    verdicts = {None: "not asked", True: "yes", False: "no"}
    table(
        ("time", "score", "second stage", "outcome"),
        [
            (
                wake["time"],
                f"{wake['score']:.2f}",
                verdicts[wake["second_stage"]],
                f"{wake['outcome']}{', false' if wake['false'] else ''}".replace("_", " "),
            )
            for wake in report["wakes"]
        ],
        right=frozenset({1}),
    )
    print()
    columns = ("wakes", "answered", "nothing_said", "rejected", "false")
    table(
        ("day", *(column.replace("_", " ") for column in columns)),
        [
            (day, *(str(counts.get(column, 0)) for column in columns))
            for day, counts in report["days"].items()
        ],
        right=frozenset(range(1, 6)),
    )


def _show(report: dict[str, Any]) -> None:
    if not report["turns"]:
        print("No turns yet.")
        return
    outcomes = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in report["outcomes"].items()
    )
    print(f"{report['turns']} turns: {outcomes}")
    if report["spans"]:
        table(
            ("stage", "turns", "median ms", "p95 ms"),
            [
                (
                    span["name"],
                    str(span["count"]),
                    f"{span['median_ms']:.0f}",
                    f"{span['p95_ms']:.0f}",
                )
                for span in report["spans"]
            ],
            right=frozenset({1, 2, 3}),
        )
