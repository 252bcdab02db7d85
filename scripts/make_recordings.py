"""Make the recordings of the demo and the benchmark: `python scripts/make_recordings.py`.

The voice of the synthetic ones is Kokoro-82M. The human ones are kept as they are; with
`--human FOLDER` they are taken anew from a folder that holds their originals.
"""

import argparse
import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile as sf  # type: ignore[import-untyped]
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray
from wakeword import kokoro

RATE = 16_000  # Hz
BEFORE, AFTER = 0.5, 0.5  # seconds of the room around the speech
SPEECH_DBFS = -24.0  # level of the speech, pauses left out: a talker at about a metre
ROOM_DBFS = -66.0  # noise of a quiet room
END_DB = 35.0  # speech ends with the last block at most this much below the loudest ...
NOISE_DB = 7.0  # ... and, where there is noise, this much above its level
BLOCK = RATE // 100
SOURCE = "synthetic: Kokoro-82M"

Sound = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Synthetic:
    """text: a "|" in it is a pause of `pause` seconds. voice and speed are Kokoro's."""

    file: str
    text: str
    voice: str
    speed: float = 1.0
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Human:
    """original: path of the file in the folder of originals; source: where it is published."""

    file: str
    text: str
    original: str
    source: str
    licence: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of manifest.csv."""

    file: str
    text: str
    wake_word: str
    end_of_speech_seconds: str
    source: str
    licence: str


DEMO = (
    Synthetic("question.wav", "Hey Echo, what is the capital of Japan?", "af_heart"),
    Synthetic("follow_up.wav", "And what is the capital of Germany?", "af_heart"),
)

BENCH = (
    Synthetic("capital.flac", "Hey Echo, what is the capital of Italy?", "af_nova"),
    Synthetic("author.flac", "Hey Echo, who wrote Hamlet?", "am_eric"),
    Synthetic("planet.flac", "Hey Echo, which planet is closest to the sun?", "bf_emma"),
    Synthetic("quick.flac", "Hey Echo, what is the largest ocean?", "am_puck", speed=1.2),
    Synthetic("short.flac", "Hey Echo, tell me a joke.", "bm_george"),
    Synthetic("slow.flac", "Hey Echo, how do bees make honey?", "am_onyx", speed=0.85),
    Synthetic(
        "long.flac",
        "Hey Echo, I would like to know how long it takes for the light of the sun to travel "
        "all the way to the earth.",
        "bf_lily",
    ),
    Synthetic(
        "two_clauses.flac",
        "Hey Echo, my daughter has a cold, what should she drink?",
        "af_sky",
    ),
    Synthetic(
        "pause_after_article.flac",
        "Hey Echo, what is the | tallest mountain in the world?",
        "am_onyx",
        pause=0.35,
    ),
    Synthetic(
        "pause_after_and.flac",
        "Hey Echo, give me a recipe with eggs and | tomatoes.",
        "af_nova",
        pause=0.45,
    ),
    Synthetic(
        "pause_after_wake_word.flac",
        "Hey Echo. | Who painted the Mona Lisa?",
        "am_eric",
        pause=0.6,
    ),
    Synthetic("how_many.flac", "Hey Echo, how many legs does a spider have?", "bf_emma"),
    Synthetic("advice.flac", "Hey Echo, how can I sleep better at night?", "am_puck"),
    Synthetic("language.flac", "Hey Echo, what language do they speak in Brazil?", "bm_george"),
)

HUMAN = (
    Human(
        "human_timer.flac",
        "set a timer for ten minutes",
        "human/rhasspy3__set_timer.flac",
        "github.com/rhasspy/rhasspy3 etc/set_timer.wav",
        "MIT",
    ),
    Human(
        "human_lamp.flac",
        "would you please turn on the living room lamp",
        "human/voice2json__would_you_please_turn_on_living_room_lamp.flac",
        "github.com/synesthesiam/voice2json etc/test/would_you_please_turn_on_living_room_lamp.wav",
        "MIT",
    ),
    Human(
        "human_time.flac",
        "what time is it",
        "human/rhasspy3__what_time_is_it.flac",
        "github.com/rhasspy/rhasspy3 etc/what_time_is_it.wav",
        "MIT",
    ),
    Human(
        "human_date.flac",
        "what's the date today",
        "human/rhasspy3__whats_the_date_today.flac",
        "github.com/rhasspy/rhasspy3 etc/whats_the_date_today.wav",
        "MIT",
    ),
    Human(
        "human_door.flac",
        "lock the front door",
        "human/speech-to-phrase__lock_the_Front_Door.flac",
        "github.com/OHF-Voice/speech-to-phrase tests/wav/en/lock the Front Door.wav",
        "Apache-2.0",
    ),
    Human(
        "human_grapefruit.flac",
        "how do you say grapefruit in french",
        "human/assistant-sdk-python__grapefruit.flac",
        "github.com/googlesamples/assistant-sdk-python google-assistant-sdk/tests/data/"
        "grapefruit.riff",
        "Apache-2.0",
    ),
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--human", type=Path, metavar="FOLDER", help="originals, see HUMAN")
    arguments.add_argument(
        "--to", type=Path, default=Path(__file__).parents[1] / "recordings", metavar="FOLDER"
    )
    options = arguments.parse_args()
    demo, bench = options.to / "demo", options.to / "bench"
    for folder in (demo, bench):
        folder.mkdir(parents=True, exist_ok=True)
    write_manifest(demo, [make(each, demo) for each in DEMO])
    rows = [make(each, bench) for each in BENCH]
    rows += [take(each, bench, options.human) for each in HUMAN]
    write_manifest(bench, rows)


def make(recording: Synthetic, folder: Path) -> Row:
    """Speak a recording, put it into a quiet room, write it, and return its line."""
    speech = level(spoken(recording))
    end = BEFORE + end_of_speech(speech)
    room = np.random.default_rng(sum(recording.text.encode()))
    sound = np.pad(speech, (round(BEFORE * RATE), round(AFTER * RATE)))
    sound = sound + room.normal(0, 10 ** (ROOM_DBFS / 20), len(sound)).astype(np.float32)
    sf.write(folder / recording.file, sound, RATE, subtype="PCM_16")
    text = recording.text.replace(" |", "")
    source = f"{SOURCE}, voice {recording.voice}"
    wake_word = "yes" if text.startswith("Hey Echo") else "no"
    return Row(recording.file, text, wake_word, f"{end:.2f}", source, "Apache-2.0")


def spoken(recording: Synthetic) -> Sound:
    """The speech alone, at 16 kHz, with silence put in where the text has a pause."""
    parts = [phonemes(part, recording.voice) for part in recording.text.split("|")]
    said = kokoro.shared().speak(" ".join(parts), recording.voice, recording.speed)
    sound = said.sound
    if recording.pause:
        at = int(said.ends[len(parts[0])])  # the end of the space after the first part
        fade = np.linspace(1, 0, 240, dtype=np.float32)
        first, second = sound[:at].copy(), sound[at:].copy()
        first[-len(fade) :] *= fade
        second[: len(fade)] *= fade[::-1]
        silence = np.zeros(round(recording.pause * kokoro.SAMPLE_RATE), np.float32)
        sound = np.concatenate([first, silence, second])
    sound = np.asarray(soxr.resample(sound, kokoro.SAMPLE_RATE, RATE), np.float32)
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    return sound[loud[0] : loud[-1] + 1]


def phonemes(text: str, voice: str) -> str:
    """Kokoro's phonemes; clause by clause, so that no comma is lost where espeak joins words."""
    accent = "en-gb" if voice.startswith("b") else "en-us"
    marked = text.replace(",", ",\n").replace(".", ".\n").splitlines()
    clauses = [clause.strip() for clause in marked if clause.strip()]
    return " ".join(
        kokoro.phonemes(clause.rstrip(",.?"), accent) + clause[len(clause.rstrip(",.?")) :]
        for clause in clauses
    )


def level(speech: Sound) -> Sound:
    """The same speech at SPEECH_DBFS, measured over its sounding blocks."""
    loud = blocks(speech)
    sounding = loud[loud > loud.max() - END_DB]
    mean = 10 * np.log10(np.mean(10 ** (sounding / 10)))
    return np.asarray(speech * 10 ** ((SPEECH_DBFS - mean) / 20), np.float32)


def end_of_speech(sound: Sound, noise: float = -120.0) -> float:
    """Seconds until the end of the last block that is speech by END_DB and NOISE_DB."""
    loud = blocks(sound)
    least = max(loud.max() - END_DB, noise + NOISE_DB)
    return float(np.flatnonzero(loud > least)[-1] + 1) * BLOCK / RATE


def blocks(sound: Sound) -> NDArray[np.float64]:
    """Level of each block of 10 ms in dB, clicks taken out by a median over five."""
    whole = np.pad(sound, (0, -len(sound) % BLOCK)).reshape(-1, BLOCK).astype(np.float64)
    raw = np.pad(10 * np.log10(np.mean(whole**2, axis=1) + 1e-12), 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(raw, 5), axis=1))


def take(recording: Human, folder: Path, originals: Path | None) -> Row:
    """Keep a human recording, or take it anew, and return its line."""
    path = folder / recording.file
    if originals is not None:
        sound, rate = sf.read(originals / recording.original, dtype="float32", always_2d=True)
        sf.write(path, soxr.resample(sound.mean(axis=1), rate, RATE), RATE, subtype="PCM_16")
    sound, _ = sf.read(path, dtype="float32")
    noise = float(np.percentile(blocks(sound), 10))
    end = f"{end_of_speech(sound, noise):.2f}"
    return Row(recording.file, recording.text, "no", end, recording.source, recording.licence)


def write_manifest(folder: Path, rows: Iterable[Row]) -> None:
    with (folder / "manifest.csv").open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(Row.__annotations__)
        lines.writerows([getattr(row, name) for name in Row.__annotations__] for row in rows)


if __name__ == "__main__":
    main()
