"""What was said yesterday is there today, and what was not to be kept is nowhere."""

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firmware_app.audio.wav import read_wav
from firmware_app.history.statements import RESTARTED
from firmware_app.history.store import CARRIED_ON
from tests.journeys.conftest import COMMAND, QUESTION, Service

pytestmark = pytest.mark.journey

HOLDS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print(flush=True)
sys.stdin.read()
"""
ASKED = "What is the capital of Japan?"


def chats(service: Service, *words: str) -> dict[str, Any]:
    answer = service.command("chats", *words, "--json")
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def entries(service: Service, uuid: str) -> list[tuple[int, str, str]]:
    """Number, kind and text of each."""
    shown = chats(service, "show", uuid)
    return [(e["number"], e["kind"], e["text"]) for e in shown["entries"]]


def test_a_talk_outlives_a_restart_and_is_gone_on_with_by_typing(service: Service) -> None:
    service.until("idle")
    service.microphone.say(read_wav(QUESTION))
    service.until("speaking")
    service.until("listening")
    assert service.status()["conversations"] == "saved"

    typed = subprocess.Popen(
        [*COMMAND, "ask", "Tell me a long story about a dog."],
        env=service.environment,
        stdout=subprocess.PIPE,
    )
    service.until("speaking")
    service.microphone.say(read_wav(QUESTION))  # over the reply
    service.until("listening")
    service.until("speaking")
    service.until("idle")
    typed.communicate(timeout=60)

    (talk,) = chats(service, "list")["conversations"]
    assert (talk["kind"], talk["title"], talk["state"]) == ("voice", ASKED, "active")
    shown = chats(service, "show", talk["uuid"])["entries"]
    assert [e["number"] for e in shown] == [1, 2, 3, 4, 5, 6]
    assert "Tokyo" in shown[1]["text"]
    assert shown[3]["metadata"]["status"] == "interrupted"
    assert [e["metadata"]["input_mode"] for e in shown[::2]] == ["voice", "text", "voice"]

    service.end()
    service.start()
    service.until("idle")
    assert [c["state"] for c in chats(service, "list")["conversations"]] == ["ended"]
    continued = service.command("chats", "continue", talk["uuid"][:8])
    assert continued.stdout == f"Continuing {ASKED!r}.\n"
    answer = service.command("ask", "Which city is it?").stdout
    assert "Tokyo" in answer
    assert entries(service, talk["uuid"])[6:] == [
        (7, "notice", CARRIED_ON),
        (8, "user", "Which city is it?"),
        (9, "assistant", answer.strip()),
    ]
    used = chats(service, "show", talk["uuid"])["conversation"]["usage"]["engines"]
    assert {name.split()[0] for name in used} == {"recogniser", "model", "voice"}
    assert all(amounts["compute_seconds"] > 0 for amounts in used.values())


def test_a_talk_that_a_power_cut_ended_says_so(service: Service) -> None:
    service.until("idle")
    service.command("ask", ASKED)
    (talk,) = chats(service, "list")["conversations"]
    service.until_true(lambda: len(entries(service, talk["uuid"])) == 2)  # they are kept
    service.process.kill()
    service.process.wait()
    service.start()
    service.until("idle")
    (talk,) = chats(service, "list")["conversations"]
    assert (talk["kind"], talk["state"]) == ("chat", "interrupted")
    assert entries(service, talk["uuid"])[-1] == (3, "notice", RESTARTED)


def test_with_saving_off_no_word_of_it_is_in_any_file(service: Service, tmp_path: Path) -> None:
    service.until("idle")
    service.end()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    service.environment |= {
        "HEY_ECHO_VOICE_SAVE_CONVERSATIONS": "false",
        "TMPDIR": str(temporary),
        "PYTHONFAULTHANDLER": "1",
    }
    service.start()
    service.until("idle")
    service.microphone.say(read_wav(QUESTION))
    service.until("speaking")
    service.until("listening")
    answer = service.command("ask", "Which painter made the Mona Lisa?").stdout
    assert service.status()["conversations"] == "not saved"
    words = words_of(f"{ASKED} Tokyo Which painter made the Mona Lisa? {answer}")
    assert {"capital", "japan", "tokyo", "painter", "mona"} <= words
    assert found_in_files(words, tmp_path) == set()  # while it runs: the log of the database too
    service.process.send_signal(signal.SIGABRT)  # as it would crash
    service.process.wait(60)
    assert "Fatal Python error: Aborted" in service.log.read_text()
    assert found_in_files(words, tmp_path) == set()


def test_switched_off_and_on_by_command(service: Service, tmp_path: Path) -> None:
    service.until("idle")
    service.command("config", "set", "voice.save_conversations", "false")
    service.command("ask", "What is the capital of Italy?")
    assert service.status()["conversations"] == "not saved"
    assert chats(service, "list")["conversations"] == []
    (tmp_path / "state" / "settings.toml").write_text("[voice]\nsave_conversations = 1 = 2\n")
    service.end()
    service.start()
    service.until("idle")
    assert service.status()["conversations"] == "not saved"  # what it said cannot be known
    service.command("config", "set", "voice.save_conversations", "true")
    assert service.status()["conversations"] == "saved"


def test_a_card_that_hangs_holds_up_no_answer_and_the_end_for_ten_seconds_at_most(
    service: Service, tmp_path: Path
) -> None:
    service.until("idle")
    service.command("ask", ASKED)
    holding = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDS,
            str(tmp_path / "state" / "data" / "home" / "history.db"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holding.stdout
    holding.stdout.readline()
    try:
        assert "Rome" in service.command("ask", "What is the capital of Italy?").stdout
        service.until_true(lambda: service.status()["conversations"] == "history not saving")
        assert service.status()["history"] == "another program holds the database"
        service.end()
    finally:
        holding.kill()
        holding.communicate()
    assert "were given up" in service.log.read_text()


def test_a_history_that_a_newer_echo_wrote_is_left_alone_and_echo_answers(
    service: Service, tmp_path: Path
) -> None:
    service.until("idle")
    service.command("ask", ASKED)
    service.end()
    history = tmp_path / "state" / "data" / "home" / "history.db"
    with contextlib.closing(sqlite3.connect(history)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        connection.commit()
    before = history.read_bytes()
    service.start()
    service.until("idle")
    assert service.status()["conversations"] == "history not saving"
    assert "Tokyo" in service.command("ask", ASKED).stdout
    refused = service.command("chats", "list")
    assert refused.returncode == 74
    assert "newer" in refused.stderr
    service.end()
    assert history.read_bytes() == before


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


def found_in_files(words: set[str], folder: Path) -> set[tuple[str, str]]:
    """The words that are in a file, with its name; the loudspeaker's sound is none of Echo's."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".raw"]
    assert {"log", "history.db", "history.db-wal", "state.db"} <= {path.name for path in files}
    return {
        (word, path.name)
        for path in files
        for word in words
        if word.encode() in path.read_bytes().lower()
    }
