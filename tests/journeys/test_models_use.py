"""Engines change under a running service, and the conversation goes on."""

import json
from pathlib import Path

import pytest

from tests.journeys.conftest import Service
from tests.journeys.test_history import chats, entries

pytestmark = pytest.mark.journey

FIRST = "What is the capital of Japan?"
SECOND = "What is the capital of Italy?"


def use(service: Service, name: str) -> str:
    done = service.command("models", "use", name)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_another_recogniser_and_voice_without_losing_the_conversation(
    service: Service,
    base_model: Path,
    tmp_path: Path,
) -> None:
    service.until("idle")
    assert "Tokyo" in service.command("ask", FIRST).stdout
    assert "tiny" in service.status()["recogniser"]

    said = use(service, "whisper-base")
    assert "heard a sentence" in said
    assert "the conversation goes on" in said
    assert "base" in service.status()["recogniser"]

    said = use(service, "espeak")
    assert "said a sentence" in said
    assert "espeak" in service.status()["voice"]

    asked = service.command("ask", "Please say that again.")
    assert "Tokyo" in asked.stdout  # it remembers what it said before the change
    answer = service.command("ask", SECOND).stdout
    assert answer
    (talk,) = chats(service, "list")["conversations"]
    assert [(number, kind) for number, kind, _ in entries(service, talk["uuid"])] == [
        (1, "user"),
        (2, "assistant"),
        (3, "user"),
        (4, "assistant"),
    ]
    kept = (tmp_path / "state" / "settings.toml").read_text()
    assert 'engine = "whisper"' in kept
    assert 'model = "whisper-base"' in kept
    assert 'engine = "espeak"' in kept

    listed = json.loads(service.command("models", "list", "--json").stdout)["models"]
    states = {row["name"]: row["state"] for row in listed}
    assert states["whisper-base"] == "in use"
    assert states["piper-en-us-joe"] == "installed"
    assert service.process.poll() is None


def test_a_model_that_does_not_work_leaves_the_old_one_at_work(
    service: Service,
    models: Path,
    tmp_path: Path,
) -> None:
    service.until("idle")
    before = service.status()
    own = tmp_path / "broken.gguf"
    own.write_bytes(b"GGUF" + bytes(1000))
    place = tmp_path / "models"
    place.mkdir()
    for model in models.iterdir():
        if model.is_dir() and not model.name.startswith("."):
            (place / model.name).symlink_to(model)
    (place / "mine").mkdir()
    (place / "mine" / "broken.gguf").write_bytes(own.read_bytes())
    service.process.kill()
    service.process.wait()
    service.environment["HEY_ECHO_PATHS_MODELS"] = str(place)
    service.start()
    service.until("idle")
    note = {
        "kind": "language-model",
        "engine": "llama",
        "language": "",
        "licence": "",
        "group": "own",
        "opens": "broken.gguf",
        "files": [{"path": "broken.gguf", "bytes": 1004, "sha256": "0" * 64}],
    }
    (place / "mine" / ".model.json").write_text(json.dumps(note))

    refused = service.command("models", "use", "mine")
    assert refused.returncode != 0
    assert "broken.gguf" in refused.stderr
    after = service.status()
    for engine in ("recogniser", "language_model", "voice"):
        assert after[engine] == before[engine]
    assert "Tokyo" in service.command("ask", FIRST).stdout
    assert service.status()["language_model_state"] == "ready"
    assert not (tmp_path / "state" / "settings.toml").exists()


def test_without_a_service_it_is_tried_and_kept_for_the_next_start(
    service: Service,
    base_model: Path,
    tmp_path: Path,
) -> None:
    service.process.kill()
    service.process.wait()
    said = use(service, "whisper-base")
    assert "heard a sentence" in said
    assert "from its next start" in said
    assert "whisper-base" in (tmp_path / "state" / "settings.toml").read_text()
