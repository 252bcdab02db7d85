"""The service under a manager: ready, watched, started again, and its unit."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import firmware_app.device
from firmware_app.audio.alsa import DeviceState
from firmware_app.condition import LOADING_SECONDS, Condition
from firmware_app.dialogue.keeping import Keeper
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK
from firmware_app.settings import Settings
from tests.fake_manager import FakeManager, environment

SYSTEMD = Path(__file__).parents[1] / "systemd"
KEY = r'[A-Z]+(\{[A-Za-z]+\})?(==|=)"[^"]*"'  # of an udev rule
RUN = [sys.executable, "-m", "firmware_app", "run"]


def test_a_fault_is_ready_with_a_reason_and_a_hung_service_is_started_again(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config.toml"
    config.touch()
    models = tmp_path / "no-models"
    with FakeManager(
        RUN, environment(config, tmp_path, models), tmp_path, watchdog_seconds=4.0
    ) as manager:
        manager.until(lambda: "READY=1" in manager.told)
        assert "cannot be used" in manager.status
        manager.until(lambda: manager.count("WATCHDOG=1") > 2)
        assert (manager.starts, manager.killed) == (1, 0)

        manager.process.send_signal(signal.SIGSTOP)  # as hung as can be
        manager.until(lambda: (manager.starts, manager.killed) == (2, 1))
        begin = len(manager.told)
        manager.until(lambda: "READY=1" in manager.told[begin:])

        manager.process.send_signal(signal.SIGHUP)
        manager.until(lambda: "RELOADING=1" in manager.told)
        manager.until(lambda: manager.told.index("RELOADING=1") < last(manager, "READY=1"))
        manager.process.send_signal(signal.SIGTERM)
        manager.until(lambda: "STOPPING=1" in manager.told)


def last(manager: FakeManager, line: str) -> int:
    return len(manager.told) - 1 - manager.told[::-1].index(line)


def test_a_config_with_a_fault_is_waited_for_and_logged_once(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[voice]\nvolume = 900\n")
    models = tmp_path / "no-models"
    with FakeManager(RUN, environment(config, tmp_path, models), tmp_path) as manager:
        manager.until(lambda: "voice.volume cannot be 900" in manager.status)
        config.write_text("")
        manager.until(lambda: "cannot be used" in manager.status)
        assert manager.starts == 1
    assert manager.log.read_text().count("voice.volume cannot be 900") == 1


SLOW_CARD = """
import pathlib, sys, time
from firmware_app.cli import main
from firmware_app.engines import loading

def load(*settings):
    pathlib.Path(sys.argv[1]).touch()
    time.sleep(60)

loading._model_path = lambda settings: pathlib.Path()
loading.load_recogniser = loading.load_voice = loading.load_voice_activity = load
sys.exit(main(["run"]))
"""


@pytest.mark.parametrize("after", [0.2, 0.5, 1.0, 2.0, "it began to load"])
def test_it_ends_at_once_while_engines_still_load_from_a_fake_slow_card(
    tmp_path: Path, after: float | str
) -> None:
    config, loads = tmp_path / "config.toml", tmp_path / "loads"
    config.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_CARD, str(loads)],
        env={**environment(config, tmp_path, tmp_path / "models"), "HEY_ECHO_WEB_PORT": "0"},
        stderr=subprocess.PIPE,
    )
    if isinstance(after, float):
        time.sleep(after)
    while not isinstance(after, float) and not loads.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    try:
        told = process.communicate(timeout=15)[1]  # as long as the unit allows, and far below 60
    finally:
        process.kill()
    assert process.returncode in {0, -signal.SIGTERM}  # the latter before it is there to obey
    assert (b"stopped" in told) is (process.returncode == 0)


def command(manager: FakeManager, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "firmware_app", *words],
        env=manager.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_commands_reload_and_mute_also_while_nobody_can_listen(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.touch()
    models = tmp_path / "no-models"
    with FakeManager(RUN, environment(config, tmp_path, models), tmp_path) as manager:
        manager.until(lambda: "cannot be used" in manager.status)
        assert command(manager, "reload").stdout == "No setting has changed.\n"
        config.write_text('[voice]\nvolume = 10\nengine = "espeak"\n[log]\nlevel = "error"\n')
        reloaded = command(manager, "reload").stdout.splitlines()
        assert reloaded[0] == "Changed: voice.engine, voice.volume, log.level."
        assert reloaded[1] == "Only after a restart: log.level."  # engines are loaded anew anyway
        config.write_text("[voice]\nvolume = 900\n")
        refused = command(manager, "reload")
        assert (refused.returncode, "cannot be 900" in refused.stderr) == (78, True)

        assert "is muted" in command(manager, "mute").stdout
        assert "hears again" in command(manager, "unmute").stdout
        for words in (["say", "Good", "morning"], ["stop"]):
            assert command(manager, *words).returncode == 75
        assert manager.starts == 1


def test_the_watchdog_is_fed_while_sound_comes_or_it_is_known_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings()
    condition = Condition(lambda: settings, list, Keeper(settings))
    assert condition.alive()  # engines are loading
    monkeypatch.setattr(time, "monotonic", lambda: condition.loading_since + LOADING_SECONDS + 1)
    assert not condition.alive()
    condition.fault = EngineError("model-missing", "The model is missing.", "Fetch it.")
    assert condition.alive()

    condition.fault = None
    condition.echo = object()  # type: ignore[assignment] # only whether there is one is asked
    ready = DeviceState("microphone", True, "The microphone is ready.")
    assert not condition.alive()  # the driver has said nothing
    condition.devices["microphone"] = ready
    condition.meter.add(np.zeros(BLOCK, np.int16))
    assert condition.alive()
    assert not condition.alive()  # nothing came since
    condition.devices["microphone"] = replace(ready, ready=False, text="The microphone is muted.")
    assert condition.alive()


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with a program that is there on every machine."""
    made = tmp_path / "hey-echo.service"
    text = (SYSTEMD / "hey-echo.service").read_text()
    made.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    return made


def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("there is no systemd-analyze here")
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def test_systemd_finds_nothing_wrong_with_the_unit(unit: Path) -> None:
    verified = analyzed("verify", str(unit))
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_misspelt_key_would_be_found(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("LimitCORE=0", "LimitCores=0"))
    assert "LimitCores" in analyzed("verify", str(unit)).stderr


def test_the_unit_is_shut_in_tightly(unit: Path) -> None:
    judged = analyzed("security", "--offline=true", "--threshold=20", str(unit))
    assert judged.returncode == 0, judged.stdout


def test_the_drivers_of_the_devices_that_it_may_use_are_there_before_it_starts(unit: Path) -> None:
    text = unit.read_text()
    drivers = {"alsa": "snd", "spi": "spidev", "usb_device": "usbcore", "gpiochip": None}
    allowed = re.findall(r"^DeviceAllow=char-(\w+) rw$", text, re.MULTILINE)
    assert set(allowed) == set(drivers)
    for driver in filter(None, drivers.values()):  # that of pins is a part of the kernel
        for relation in ("Wants", "After"):
            assert re.search(rf"^{relation}=.*modprobe@{driver}\.service", text, re.MULTILINE)


def test_the_units_promises(unit: Path) -> None:
    text = unit.read_text()
    for line in (
        "Type=notify",
        "RestartSec=5",
        "StartLimitIntervalSec=0",
        "LimitCORE=0",
        "MemorySwapMax=0",
        "IPAddressDeny=any",
    ):
        assert f"\n{line}\n" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make users and give folders away")
def test_its_user_groups_and_folders_are_made(tmp_path: Path) -> None:
    tools = [shutil.which(f"systemd-{name}") for name in ("sysusers", "tmpfiles")]
    if None in tools:
        pytest.skip("there is no systemd here")
    sysusers, tmpfiles = map(str, tools)
    for folder in ("etc", "var/lib"):
        (tmp_path / folder).mkdir(parents=True)
    for command in (
        [sysusers, f"--root={tmp_path}", str(SYSTEMD / "hey-echo.sysusers")],
        [tmpfiles, f"--root={tmp_path}", "--create", str(SYSTEMD / "hey-echo.tmpfiles")],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.count("rror") == 0
    lines = (tmp_path / "etc/group").read_text().splitlines()
    groups = {line.split(":")[0]: line for line in lines}
    text = (SYSTEMD / "hey-echo.service").read_text()
    wanted = re.search(r"^SupplementaryGroups=(.*)$", text, re.MULTILINE)
    assert wanted
    for group in wanted[1].split():
        assert groups[group].endswith("hey-echo")
    assert stat.S_IMODE((tmp_path / "etc/hey-echo").stat().st_mode) == 0o2750
    assert (tmp_path / "etc/hey-echo").stat().st_uid == 0
    assert (tmp_path / "var/lib/hey-echo").stat().st_uid != 0


def test_the_rules_open_the_usb_boards_that_echo_knows() -> None:
    rules = (SYSTEMD / "60-hey-echo.rules").read_text()
    for line in rules.splitlines():
        keys = [key.strip() for key in line.split(",")]
        assert line.startswith("#") or all(re.fullmatch(KEY, key) for key in keys), line
    boards = Path(firmware_app.device.__file__).parent / "boards"
    known = re.findall(
        r"\b(2886):([0-9a-f]{4})\b", "".join(f.read_text() for f in boards.glob("*"))
    )
    assert known
    for vendor, product in known:
        assert f'ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}"' in rules
