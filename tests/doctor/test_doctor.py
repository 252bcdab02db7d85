"""The command itself: how it runs the checks, and how it tells what they found."""

import json
import os
import pwd
import re
import socket
import time
from pathlib import Path

import pytest

from firmware_app import doctor
from firmware_app.cli import main
from firmware_app.cli.doctor import Meter, lines
from firmware_app.doctor import Area, Check, Finding, Status, all_checks, checks, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.report import names_of, report, without
from firmware_app.doctor.runner import Result, run, worst
from firmware_app.errors import DeviceError
from tests.doctor.conftest import Box

TESTS = Path(__file__).parent


def check(name: str, works: object, *, seconds: float = 10.0, heavy: bool = False) -> Check:
    """works: a finding, an error to raise, or a function of the context."""

    def look(context: Context) -> Finding:
        if isinstance(works, Exception):
            raise works
        if callable(works):
            works()
            return passed("done")
        assert isinstance(works, Finding)
        return works

    return Check(name, Area.SYSTEM, f"the {name}", look, seconds, heavy)


def test_every_file_has_one_check_of_its_name_and_every_check_a_staged_fault() -> None:
    files = {path.stem.replace("_", "-") for path in Path(checks.__path__[0]).glob("[a-z]*.py")}
    assert files == {each.name for each in all_checks()}
    told = "".join(path.read_text(encoding="utf-8") for path in TESTS.glob("test_[!d]*.py"))
    for each in all_checks():
        module = each.name.replace("-", "_")
        staged = rf'finds\("{each.name}"\)|\b{module}(_check)?\.(judge|run)\('
        assert re.search(staged, told), each.name
        assert each.looks_at


def test_one_that_hangs_costs_only_its_own_time(box: Box) -> None:
    hangs = check("card", lambda: time.sleep(60), seconds=0.3)
    began = time.monotonic()
    results = list(run([hangs, check("other", passed("fine"))], box.made()))
    assert time.monotonic() - began < 30
    assert [result.check.name for result in results] == ["card", "other"]
    assert results[0].finding.status is Status.FAIL
    assert "more than 0.3 s to look at the card" in results[0].finding.line
    assert results[1].finding == passed("fine")


def test_errors_become_findings_with_their_mend_and_faults_of_the_check_name_no_words(
    box: Box,
) -> None:
    gone = DeviceError("device-missing", "The microphone is gone.", "Plug it in.")
    told = [r.finding for r in run([check("a", gone), check("b", KeyError("secret"))], box.made())]
    assert told[0] == Finding(
        Status.FAIL, "The microphone is gone. [device-missing]", "Plug it in."
    )
    assert told[1].line == "The check itself failed: KeyError."


def test_what_computes_waits_until_the_rest_is_through(box: Box) -> None:
    done: list[str] = []

    def listens() -> None:
        time.sleep(0.2)
        done.append("light")

    both = [
        check("loads", lambda: done.append("heavy"), heavy=True),
        check("listens", listens),
    ]
    assert [result.check.name for result in run(both, box.made())] == ["loads", "listens"]
    assert done == ["light", "heavy"]


def test_the_worst_counts() -> None:
    def of(*statuses: Status) -> list[Result]:
        return [Result(check("x", passed("")), Finding(s, ""), 0.0) for s in statuses]

    assert worst(of(Status.PASS, Status.PASS)) is Status.PASS
    assert worst(of(Status.PASS, Status.WARN)) is Status.WARN
    assert worst(of(Status.FAIL, Status.WARN)) is Status.FAIL


def test_a_line_a_check_and_the_mend_under_it() -> None:
    assert list(lines(Result(check("clock", passed("")), passed("Right."), 0.1))) == [
        "pass  clock           Right."
    ]
    told = list(lines(Result(check("clock", passed("")), warned("It drifts.", "Set it."), 0.1)))
    assert told == ["warn  clock           It drifts.", f"{'':22}→ Set it."]


def test_the_level_is_shown_on_a_terminal_alone(capsys: pytest.CaptureFixture[str]) -> None:
    terminal, pipe = Meter(shown=True), Meter(shown=False)
    terminal.show(-40.0)
    assert "[##########..........] -40 dB" in capsys.readouterr().err
    terminal.clear()
    assert capsys.readouterr().err == "\r\x1b[K"
    pipe.show(-40.0)
    pipe.clear()
    assert capsys.readouterr().err == ""


@pytest.fixture
def quiet_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(tmp_path / "run"))
    return tmp_path


def test_the_exit_status_tells_the_worst(
    quiet_box: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "words", "endpoints"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in out[:-1]] == [["pass", "endpoints"], ["pass", "words"]]
    assert out[-1].startswith("2 checks: 2 pass, 0 warn, 0 fail.")
    assert main(["doctor", "service"]) == 1
    monkeypatch.setenv("HEY_ECHO_VOICE_VOLUME", "900")
    assert main(["doctor", "settings", "service"]) == 2
    assert "[setting-invalid]" in capsys.readouterr().out


def test_json_is_for_programs(quiet_box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "service", "words"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "warn"
    service = next(row for row in told["checks"] if row["name"] == "service")
    assert service["status"] == "warn"
    assert service["mend"]


def test_a_check_that_does_not_exist_is_a_wrong_command(
    quiet_box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "clockwork"]) == 2
    assert "There is no check clockwork" in capsys.readouterr().err


def test_a_report_names_nobody_and_no_place(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "annas-box")
    me = pwd.getpwuid(os.geteuid()).pw_name
    box.environ |= {"USER": "annabel", "SUDO_USER": "bertram"}
    box.values |= {
        "model.backend": "openai",
        "model.url": "http://thinker.fritz.box:8080/v1",
        "model.send_words_to": "thinker.fritz.box",
        "model.api_key": "s3cr3t-key",
        "history.workspace": "millers",
    }
    said = (
        "annabel and Bertram at 192.168.1.20, fe80::1ff:fe23:4567:890a and b8:27:eb:12:34:56 or "
        "anna@example.org, http://thinker.fritz.box:8080/v1, thinker.fritz.box with s3cr3t-key in "
        "/home/annabel/x and /home/carol/y of millers on annas-box; 16:45 and 10:20:30"
    )
    results = [Result(check("x", passed("")), passed(said), 0.1)]
    text = report(results, box.made())
    hidden = ["annabel", "bertram", "192.168", "fe80", "b8:27", "anna@", "thinker", "s3cr3t"]
    hidden += ["carol", "millers", "annas-box"]
    assert [word for word in hidden if word in text.lower()] == []
    assert "16:45 and 10:20:30" in text  # times stay
    assert "/home/USER/y" in text
    assert me in ("root", "pi") or without(me, names_of(box.made())) == "USER"


def test_the_real_report_has_every_check_and_no_address(
    quiet_box: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    light = [each for each in all_checks() if not each.heavy and each.area is not Area.SOUND]
    monkeypatch.setattr(doctor, "all_checks", lambda: light)
    main(["doctor", "--report"])
    text = capsys.readouterr().out
    assert text.startswith("Hey Echo ")
    assert text.count("\n") == len(light) + 1
    assert not re.search(r"\d+\.\d+\.\d+\.\d+|https?://", text)
    assert "→" not in text


def test_a_table_of_faults_names_checks_that_exist() -> None:
    table = (TESTS.parents[1] / "docs" / "doctor-table.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \|.*\| `(pass|warn|fail) +([a-z-]+)", table, re.MULTILINE)
    assert len(rows) >= 10
    names = {each.name for each in all_checks()}
    assert {name for _, name in rows} <= names
