"""The recordings of the demo and the benchmark are what their manifests say."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame

FOLDER = Path(__file__).parents[1] / "recordings"
ROWS = [
    (folder, row)
    for folder in ("demo", "bench")
    for row in csv.DictReader((FOLDER / folder / "manifest.csv").read_text().splitlines())
]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


@pytest.mark.parametrize(("folder", "row"), ROWS, ids=[row["file"] for _, row in ROWS])
def test_sound_and_end_of_speech_are_as_told(folder: str, row: dict[str, str]) -> None:
    sound, rate = soundfile.read(FOLDER / folder / row["file"], dtype="int16")
    assert (rate, sound.ndim) == (SAMPLE_RATE, 1)
    end = round(float(row["end_of_speech_seconds"]) * rate)
    assert 0.5 * rate < end <= len(sound)
    before, after = sound[:end].astype(float), sound[end:].astype(float)
    assert np.sqrt(np.mean(before**2)) > 5 * np.sqrt(np.mean(after**2))
    assert row["licence"] in {"MIT", "Apache-2.0", "CC0-1.0"}
    assert (row["wake_word"] == "yes") == row["text"].startswith("Hey Echo")


def test_every_recording_is_in_a_manifest_and_all_are_small() -> None:
    files = [path for path in FOLDER.rglob("*") if path.suffix in {".wav", ".flac"}]
    assert sorted(path.relative_to(FOLDER).as_posix() for path in files) == sorted(
        f"{folder}/{row['file']}" for folder, row in ROWS
    )
    assert sum(path.stat().st_size for path in files) < 4_000_000


def test_there_are_enough_voices_and_people() -> None:
    bench = [row for folder, row in ROWS if folder == "bench"]
    asked = [row for row in bench if row["wake_word"] == "yes"]
    assert len(asked) >= 12
    assert len({row["source"] for row in asked}) >= 6
    assert len(bench) - len(asked) >= 4


@pytest.mark.parametrize("cut_ms", [0, 100, 500])
async def test_the_demo_is_heard_word_for_word(whisper: WhisperRecogniser, cut_ms: int) -> None:
    for folder, row in ROWS:
        if folder != "demo":
            continue
        sound, _ = soundfile.read(FOLDER / folder / row["file"], dtype="int16")
        sound = sound[cut_ms * SAMPLE_RATE // 1000 :]
        sound = np.pad(sound, (0, -len(sound) % BLOCK)).reshape(-1, BLOCK)
        heard = whisper.start()
        for number, block in enumerate(sound):
            heard.feed(Frame(block, number * BLOCK, number / 50))
        assert words((await heard.finish()).text) == words(row["text"])
