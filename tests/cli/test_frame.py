"""The frame of all commands: one sentence and a fitting exit status, never a traceback."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

import firmware_app
from firmware_app import cli
from firmware_app.cli import config, main, stats
from firmware_app.errors import DeviceError
from firmware_app.state import StateStore, state_file
from firmware_app.traces import Outcome, Stage, Trace
from tests.cli.conftest import Box
from tests.commands import Run

ROOT = Path(__file__).parent.parent.parent


def command(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "firmware_app", *argv],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def failing_with(fault: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: argparse.Namespace) -> int:
        raise fault

    monkeypatch.setattr(config, "run_path", fail)


def test_the_version_is_the_packages(box: Box) -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"hey-echo {firmware_app.__version__}\n")


def test_help_lists_every_group_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    out = capsys.readouterr().out
    assert done.value.code == 0
    assert all(f"\n    {group} " in out for group in cli.GROUPS)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "See: hey-echo --help"),
        (["confg"], "did you mean config?"),
        (["config"], "See: hey-echo config --help"),
        (["config", "sett"], "did you mean set?"),
        (["config", "set", "voice.volume"], "VALUE"),
        (["config", "show", "--yaml"], "--yaml"),
        (["stats", "--last", "many"], "invalid int value"),
        (["stats", "--last", "0"], "Name 1 to 1000 turns"),
    ],
)
def test_a_wrong_command_gets_one_sentence(
    box: Box, hey_echo: Run, argv: list[str], says: str
) -> None:
    status, out, err = hey_echo(*argv)
    assert (status, out) == (2, "")
    assert err.startswith("hey-echo: ")
    assert err.count("\n") == 1
    assert says in err


def test_an_error_of_echo_is_its_two_sentences_its_code_and_its_status(
    box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(DeviceError("gone", "The microphone is gone.", "Plug it in."), monkeypatch)
    assert hey_echo("config", "path") == (
        74,
        "",
        "hey-echo: The microphone is gone. Plug it in. [gone]\n",
    )


def test_anything_else_names_its_place_but_not_its_words(
    box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "ask_service", lambda *_, **__: {"words of someone": 1})
    status, out, err = hey_echo("stats")
    assert (status, out) == (70, "")
    assert err.startswith("hey-echo: Echo itself failed: KeyError at firmware_app/cli/stats.py:")
    assert "[internal]" in err
    assert err.count("\n") == 1
    assert "words" not in err


def test_a_traceback_is_for_debugging_only(
    box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEY_ECHO_LOG_LEVEL", "debug")
    failing_with(ZeroDivisionError(), monkeypatch)
    status, _, err = hey_echo("config", "path")
    assert status == 70
    assert "Traceback" in err


def test_an_interrupt_is_quiet(box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_with(KeyboardInterrupt(), monkeypatch)
    assert hey_echo("config", "path") == (130, "", "")


def test_a_reader_that_has_seen_enough_is_no_error(box: Box) -> None:
    line = f"{sys.executable} -m firmware_app config show; echo status $? >&2"
    done = subprocess.run(
        ["/bin/sh", "-c", f"({line}) | true"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr in ("status 141\n", "status 0\n")  # 0: true had not hung up yet


def test_a_small_command_imports_nothing_heavy(box: Box) -> None:
    script = (
        "import sys; from firmware_app.cli import main; main(['config', 'get', 'language'])\n"
        "heavy = {'numpy', 'asyncio', 'apsw', 'tomlkit', 'onnxruntime', 'aiohttp', 'alsaaudio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "en\n[]\n"


class TestStatus:
    def test_without_a_service_it_says_how_to_start_one(self, box: Box, hey_echo: Run) -> None:
        status, out, err = hey_echo("status")
        assert (status, out) == (75, "")
        assert err.startswith("hey-echo: Echo is not running. Start it with:")

    def test_it_prints_what_the_service_says(self, box: Box, hey_echo: Run) -> None:
        with box.service():
            status, out, _ = hey_echo("status")
            json_out = hey_echo("status", "--json")[1]
        assert status == 0
        assert out.splitlines() == [
            "state       idle",
            "recogniser  whisper tiny.en",
            "muted       false",
        ]
        assert '"muted": false' in json_out


class TestStats:
    TURN = Trace(
        0.0,
        {Stage.SPEECH_END: 1.0, Stage.TRANSCRIPT: 1.3, Stage.FIRST_AUDIO: 1.8},
        outcome=Outcome.ANSWERED,
    )

    def test_nothing_yet(self, box: Box, hey_echo: Run) -> None:
        assert hey_echo("stats") == (0, "No turns yet.\n", "")

    def test_from_the_running_service(self, box: Box, hey_echo: Run) -> None:
        box.traces.add(self.TURN)
        with box.service():
            status, out, _ = hey_echo("stats")
        assert status == 0
        assert out.splitlines() == [
            "1 turns: 1 answered",
            "stage                         turns  median ms  p95 ms",
            "transcript                        1        300     300",
            "end of speech to first audio      1        800     800",
        ]

    def test_from_the_state_database_when_none_runs(self, box: Box, hey_echo: Run) -> None:
        store = StateStore(state_file(box.state))
        store.keep_trace(self.TURN)
        store.keep_trace(Trace(1.0, outcome=Outcome.NOTHING_SAID))
        store.close()
        _, out, _ = hey_echo("stats")
        assert out.startswith("2 turns: 1 answered, 1 nothing said\n")
        assert "end of speech to first audio      1        800     800" in out
        assert '"turns": 1' in hey_echo("stats", "--json", "--last", "1")[1]
