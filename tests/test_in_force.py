"""A reload says what has changed, and what waits for a restart."""

from dataclasses import replace

from firmware_app.in_force import InForce, changed_names
from firmware_app.settings import Settings

BEFORE = Settings()
AFTER = replace(
    BEFORE,
    voice=replace(BEFORE.voice, volume=10, engine="espeak"),
    log=replace(BEFORE.log, level="debug"),
)


def test_only_what_takes_a_start_waits_for_one() -> None:
    assert changed_names(BEFORE, AFTER) == ["voice.engine", "voice.volume", "log.level"]
    in_force = InForce(BEFORE)
    assert in_force.waiting(AFTER) == ["voice.engine", "log.level"]
    assert in_force.waiting(BEFORE) == []


def test_engines_made_anew_or_changed_at_work_wait_no_longer() -> None:
    in_force = InForce(BEFORE)
    in_force.applied("voice.engine", AFTER)
    assert in_force.waiting(AFTER) == ["log.level"]
    in_force = InForce(BEFORE)
    in_force.loaded(AFTER)
    assert in_force.waiting(AFTER) == ["log.level"]
