"""hey-echo doctor: what is wrong with this box, and the mend."""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firmware_app.doctor.runner import Result

EXIT = {"pass": 0, "warn": 1, "fail": 2}


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser(
        "doctor",
        help="what is wrong with this box, and the mend",
        description="Look at everything that may be wrong. Exit status 0: all is well; 1: there "
        "are warnings; 2: something fails. Beside the running service it asks that for the level "
        "of the microphone; without it, it listens for two seconds and plays a soft tone.",
    )
    parser.add_argument("checks", metavar="CHECK", nargs="*", help="only these (default: all)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="for programs")
    shape.add_argument(
        "--report", action="store_true", help="for sharing: without names, addresses, and words"
    )
    shape.add_argument(
        "--record",
        action="store_true",
        help="a sound check with you: noise, echo, your voice, the wake word. The recording is "
        "held in memory and forgotten",
    )
    parser.add_argument("--keep", metavar="FILE", type=Path, help="keep what --record recorded")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.record:
        return _record(arguments.keep)
    if arguments.keep:
        from firmware_app.errors import UsageError

        raise UsageError("usage", "--keep goes with --record.", "See: hey-echo doctor --help")
    from firmware_app.cli.output import as_json
    from firmware_app.cli.service import runtime
    from firmware_app.control.client import call
    from firmware_app.doctor import runner
    from firmware_app.doctor.context import this_box
    from firmware_app.doctor.report import as_rows, report

    place = runtime()
    live = not (arguments.json or arguments.report)
    meter = Meter(shown=live and sys.stderr.isatty())
    context = this_box(lambda name, **args: call(place, name, **args), meter.show)
    results = []
    for result in runner.run(_chosen(arguments.checks), context):
        results.append(result)
        if live:
            meter.clear()
            for line in lines(result):
                print(line, flush=True)
    worst = runner.worst(results)
    if arguments.json:
        as_json({"status": worst, "checks": as_rows(results)})
    elif arguments.report:
        print(report(results, context), end="")
    else:
        print(_sum(results))
    return EXIT[worst]


def _record(keep: Path | None) -> int:
    from firmware_app import models
    from firmware_app.cli.service import ask_service, settings
    from firmware_app.device.board import chosen, resolved
    from firmware_app.doctor import sound_check
    from firmware_app.engines.loading import load_wake_word
    from firmware_app.engines.wake import Head, head_paths
    from firmware_app.errors import ServiceError, StorageError

    if ask_service("status"):
        raise ServiceError(
            "devices-in-use",
            "The running Echo has the microphone and the loudspeaker.",
            "sudo systemctl stop hey-echo, then this again, then sudo systemctl start hey-echo",
        )
    now = settings()
    board = chosen(now.device.board)
    audio = resolved(now.audio, board)
    folders = [models.SHIPPED, models.folder(now)]
    phrase = Head(head_paths(now.wake.models, folders)[0]).phrase.title()
    wake = load_wake_word(now, verified=True)
    tell = partial(print, flush=True)  # each task when it is due, also into a pipe
    check = sound_check.record(audio, now.voice.volume, phrase, tell)
    found = dict(sound_check.findings(check, board, wake))
    for name, finding in found.items():
        print(f"{finding.status}  {name:15} {finding.line}")
        if finding.mend:
            print(f"      {'':15} → {finding.mend}")
    if keep:
        try:
            sound_check.keep(check, keep)
        except OSError as fault:
            raise StorageError(
                "recording-not-kept",
                f"{keep} cannot be written: {(fault.strerror or str(fault)).lower()}.",
                "Name a file in a folder of your own.",
            ) from fault
        print(f"Kept in {keep}; delete it when you are done: rm {keep}")
    statuses = {finding.status for finding in found.values()}
    return max(EXIT[status] for status in statuses)


def lines(result: "Result") -> Iterator[str]:
    """One line a check, and the mend under it where it does not pass."""
    finding = result.finding
    yield f"{finding.status}  {result.check.name:15} {finding.line}"
    if finding.mend:
        yield f"      {'':15} → {finding.mend}"


class Meter:
    """The level of the microphone on one line of the terminal, while it is measured."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._there = False

    def show(self, level: float) -> None:
        if self._shown:
            from firmware_app.doctor.checks.microphone import bar

            self._there = True
            print(f"\rListening: say something. {bar(level)}\x1b[K", end="", file=sys.stderr)

    def clear(self) -> None:
        if self._there:
            self._there = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _chosen(names: list[str]) -> list[Any]:
    from firmware_app.doctor import all_checks
    from firmware_app.errors import UsageError

    checks = {check.name: check for check in all_checks()}
    for name in names:
        if name not in checks:
            raise UsageError(
                "usage", f"There is no check {name}.", f"There are {', '.join(checks)}."
            )
    return [check for name, check in checks.items() if not names or name in names]


def _sum(results: "list[Result]") -> str:
    counts = dict.fromkeys(EXIT, 0)
    for result in results:
        counts[result.finding.status] += 1
    return (
        f"{len(results)} checks: {', '.join(f'{n} {status}' for status, n in counts.items())}."
        " More about a code in [brackets]: hey-echo explain CODE"
    )
