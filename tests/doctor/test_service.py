"""Faults of the service and its settings, each staged, and the line that doctor says."""

import os
from pathlib import Path

import pytest

from firmware_app.control.lock import service_lock
from firmware_app.doctor import Status
from firmware_app.doctor.checks import growth
from firmware_app.errors import ServiceError
from firmware_app.settings_layers import load
from firmware_app.state import StateStore, state_file
from firmware_app.traces import Outcome, Trace
from tests.doctor.conftest import Box

UNIT = "LoadState=loaded\nActiveState={}\nSubState=x\nResult={}\nNRestarts={}\nExecMainStatus=70"
WAITS = "active\nStatusText=You may not read /etc/hey-echo/config.toml."
FAULT = {
    "code": "model-file",
    "what": "The language model is gone.",
    "mend": "Run ./scripts/setup.",
    "exit_status": 69,
}


@pytest.mark.parametrize(
    ("unit", "status", "says"),
    [
        (("failed", "exit-code", 0), Status.FAIL, "has failed (exit-code)"),
        (("active", "success", 0), Status.FAIL, "cannot be called"),
        ((WAITS, "success", 0), Status.FAIL, "called. You may not read /etc/hey-echo/config.toml."),
        (("inactive", "success", 0), Status.WARN, "not running"),
    ],
)
def test_a_service_that_does_not_answer_is_told_by_what_systemd_knows(
    box: Box, unit: tuple[str, str, int], status: Status, says: str
) -> None:
    box.fake_command("systemctl", UNIT.format(*unit))
    finding = box.finds("service")
    assert finding.status is status
    assert says in finding.line


def test_a_service_that_runs_with_a_fault_names_it_and_its_mend(box: Box) -> None:
    box.service(fault=FAULT, awake=False)
    finding = box.finds("service")
    assert finding.status is Status.FAIL
    assert "The language model is gone. [model-file]" in finding.line
    assert finding.mend == FAULT["mend"]
    box.service(awake=False)
    assert "waking up" in box.finds("service").line
    box.service(model="error: The language model dies again and again.")
    assert "dies again" in box.finds("service").line
    box.service()
    assert box.finds("service").line == "It has been running for 10 min."


def test_a_service_that_may_not_be_called_says_how_to_join(box: Box) -> None:
    box.answers["doctor"] = ServiceError("not-allowed", "You may not.", "Join its group.")
    assert box.finds("service").mend == "Join its group."
    assert "usermod -aG hey-echo" in box.finds("groups").mend


def test_a_crash_loop_that_hit_the_limit_is_found(box: Box) -> None:
    box.fake_command("systemctl", UNIT.format("failed", "start-limit-hit", 5))
    finding = box.finds("crash-loop")
    assert finding.status is Status.FAIL
    assert "reset-failed" in finding.mend
    box.fake_command("systemctl", UNIT.format("active", "success", 4))
    assert box.finds("crash-loop").status is Status.WARN
    box.fake_command("systemctl", UNIT.format("active", "success", 0))
    assert box.finds("crash-loop").status is Status.PASS


def test_what_was_logged_in_the_last_day_is_told(box: Box) -> None:
    box.fake_command("journalctl", "one\nThe card does not read or write.\n")
    finding = box.finds("last-faults")
    assert (finding.status, "2 errors" in finding.line) == (Status.WARN, True)
    assert finding.line.endswith("The card does not read or write.")
    box.fake_command("journalctl", "")
    assert box.finds("last-faults").status is Status.PASS


def test_whoever_holds_the_lock_without_answering_is_named(box: Box) -> None:
    assert "Nobody holds" in box.finds("socket").line
    box.file(f"/proc/{os.getpid()}/comm", "python3\n")
    with service_lock(box.root / "run"):
        finding = box.finds("socket")
        assert finding.status is Status.FAIL
        assert f"Process {os.getpid()} (python3) holds Echo's lock" in finding.line
        box.service()
        assert box.finds("socket").status is Status.PASS


def test_another_file_in_the_sockets_place_is_found(box: Box) -> None:
    other = box.file("/run/control.sock", "")
    finding = box.finds("socket")
    assert (finding.status, finding.mend) == (Status.FAIL, f"rm {other}")


def test_a_setting_that_waits_for_a_restart_is_found(box: Box) -> None:
    assert box.finds("restart").status is Status.PASS
    box.service()
    assert box.finds("restart").status is Status.PASS
    box.service(needs_restart=["audio.microphone", "log.level"])
    finding = box.finds("restart")
    assert (finding.status, finding.mend) == (Status.WARN, "sudo systemctl restart hey-echo")
    assert "audio.microphone, log.level" in finding.line


def test_memory_that_grows_is_found(box: Box) -> None:
    box.service(memory_awake_kb=500 * 1024, memory_kb=500 * 1024 + growth.GROWN + 1024)
    finding = box.finds("growth")
    assert (finding.status, "201 MB more than at first" in finding.line) == (Status.WARN, True)
    box.service()
    assert box.finds("growth").status is Status.PASS


def wakes(box: Box, *outcomes: Outcome, false: bool = False) -> None:
    store = StateStore(state_file(box.root / "state"))
    for number, outcome in enumerate(outcomes):
        trace = Trace(1_900_000_000.0 + number, outcome=outcome, wake_score=0.7)
        trace.false_wake = false
        store.keep_trace(trace)
    store.close()


def test_waking_by_itself_is_found(box: Box) -> None:
    wakes(box, *[Outcome.REJECTED] * 6, Outcome.ANSWERED)
    finding = box.finds("wakes")
    assert finding.status is Status.WARN
    assert "woke 6 times when nobody had called it" in finding.line
    assert "wake.sensitivity low" in finding.mend


def test_waking_and_hearing_nothing_is_found(box: Box) -> None:
    wakes(box, *[Outcome.NOTHING_SAID] * 5)
    assert "heard nothing after it" in box.finds("wakes").line


def test_the_running_service_is_asked_for_its_wake_ups(box: Box) -> None:
    wakes(box, *[Outcome.REJECTED] * 6)
    box.answers["stats.wake"] = {"wakes": [], "days": {"2026-11-30": {"wakes": 3, "answered": 3}}}
    finding = box.finds("wakes")
    assert (finding.status, finding.line[:17]) == (Status.PASS, "3 wake-ups on rec")


def test_a_fault_in_the_settings_leaves_the_other_checks_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from firmware_app.doctor.checks import settings
    from firmware_app.doctor.context import nobody, this_box

    config = tmp_path / "config.toml"
    config.write_text("[voice]\nvolume = 900\n")
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(config))
    context = this_box(nobody, lambda level: None)
    finding = settings.run(context)
    assert finding.status is Status.FAIL
    assert f"{config}:2: voice.volume cannot be 900. [setting-invalid]" in finding.line
    assert context.settings.voice.volume == 80


def test_what_was_left_out_and_who_set_what_is_told(tmp_path: Path) -> None:
    from firmware_app.doctor.checks import settings
    from firmware_app.doctor.context import Context

    config = tmp_path / "config.toml"
    config.write_text("[log]\nlevel = 'error'\n")
    environ = {
        "HEY_ECHO_CONFIG": str(config),
        "HEY_ECHO_PATHS_STATE": str(tmp_path / "state"),
        "HEY_ECHO_VOICE_VOLUME": "40",
    }
    line = settings.run(Context(load(environ), environ=environ)).line
    assert "config file: log.level" in line
    assert "environment: paths.state, voice.volume" in line
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "settings.toml").write_text("[voice]\nvolume = 900\n")
    finding = settings.run(Context(load(environ), environ=environ))
    assert (finding.status, "changed-left-out" in finding.line) == (Status.WARN, True)


def test_where_words_go_is_told(box: Box) -> None:
    assert box.finds("words").line == "What is said stays on this device."
    box.values |= {
        "model.backend": "openai",
        "model.url": "http://thinker:8080/v1",
        "model.send_words_to": "thinker",
    }
    assert "sent to thinker" in box.finds("words").line
    box.values["model.send_words_off_the_home_network"] = True
    assert box.finds("words").status is Status.WARN


def test_settings_that_cut_people_off_or_keep_them_waiting_are_found(box: Box) -> None:
    assert box.finds("endpoints").status is Status.PASS
    box.values = {"endpoint.shortest_ms": 300}
    assert "cuts people off" in box.finds("endpoints").line
    box.values = {"endpoint.longest_ms": 3000}
    assert "may wait 3000 ms" in box.finds("endpoints").line
    box.values = {"endpoint.nothing_said_seconds": 15.0}
    assert "waits 15 s" in box.finds("endpoints").line


def test_an_echo_that_hears_itself_is_told_why(box: Box) -> None:
    assert box.finds("own-voice").status is Status.PASS
    box.values = {"wake.speaking_threshold_raise": 0.0}
    finding = box.finds("own-voice")
    assert (finding.status, finding.mend) == (
        Status.WARN,
        "hey-echo config unset wake.speaking_threshold_raise",
    )


def test_a_history_that_is_not_saving_is_a_failure_and_one_turned_off_is_not(box: Box) -> None:
    box.service(conversations="history not saving", history="the card is full")
    finding = box.finds("saving")
    assert (finding.status, "not saved (the card is full)" in finding.line) == (Status.FAIL, True)
    assert "hey-echo doctor disk-space" in finding.mend
    box.service(conversations="not saved")
    assert "turned off" in box.finds("saving").line
    box.service()
    assert box.finds("saving").line == "Conversations are saved."
