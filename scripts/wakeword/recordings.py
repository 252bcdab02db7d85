"""Real people's speech without the phrase: for training, for choosing, and for the report.

What trains and what judges comes from different sources: recordings of other wake words
(--negatives), telephone prompts and one game's lines train; one wake word held out, read and
spoken requests, and another game's lines judge.
"""

import os
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile  # type: ignore[import-untyped]
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.frames import SAMPLE_RATE
from wakeword.games import amazon_queen, steel_sky
from wakeword.kokoro import cache_folder

Sound = NDArray[np.float32]
PUBLIC_SOURCE = (
    "https://github.com/Picovoice/wake-word-benchmark (audio/*, Apache-2.0); give its folder with "
    "--negatives"
)
ENDINGS = {".flac", ".wav", ".ogg", ".mp3"}
JOINED = 20  # seconds of joined recordings a piece
SPLIT = 2  # raised when what trains and what judges is parted anew
HELD_OUT_FOLDER = "view_glass"  # of the negatives: judged on, never trained on

PROMPTS = tuple(
    f"asterisk-core-sounds-{language}-wav" for language in ("en", "es", "fr", "it", "ru")
)
GAME_TRAIN = "beneath-a-steel-sky"
GAME_TRAIN_LINES = 1600
GAME_JUDGE = "flight-of-the-amazon-queen"  # 6,700 lines by two dozen actors, 4.4 h


@dataclass(frozen=True)
class Recordings:
    """Pieces of about JOINED seconds at 16 kHz, and what to call them on the card."""

    train: list[Sound]
    dev: list[Sound]
    test: list[Sound]
    sources: list[str]


def default_folder() -> Path | None:
    """Where recordings are looked for when no folder was named."""
    named = os.environ.get("HEY_ECHO_TRAINING_DATA")
    beside = Path(__file__).parents[3] / "shared" / "data"
    folders = [Path(named)] if named else []
    return next((folder for folder in [*folders, beside] if folder.is_dir()), None)


def gather(folders: list[Path], *, packages: bool = True) -> Recordings:
    """All there is. Folders that hold other wake words train; the rest is split as above.

    A folder named speech is judged on; packages: fetch Debian's, where this is a Debian.
    """
    train: list[Path] = []
    judged: list[Path] = []
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS):
            held_out = HELD_OUT_FOLDER in path.parts or "speech" in path.parts
            (judged if held_out else train).append(path)
    sources = [f"{len(train)} recordings of other wake words, {len(judged)} held out"]
    train_sounds = [load(p) for p in train]
    dev = [load(p) for p in judged if _half(p.name)]
    test = [load(p) for p in judged if not _half(p.name)]
    if packages and shutil.which("apt-get") and shutil.which("dpkg"):
        for package in PROMPTS:
            prompts = sorted(_unpacked(package).rglob("*.wav"))
            train_sounds += [load(p) for p in prompts]
            sources.append(f"{package} ({len(prompts)} prompts, trained on)")
        played = [sound for _, sound in steel_sky(_unpacked(GAME_TRAIN), GAME_TRAIN_LINES)]
        train_sounds += played
        sources.append(f"{GAME_TRAIN} ({len(played)} spoken lines, trained on)")
        lines = list(amazon_queen(_unpacked(GAME_JUDGE)))
        dev += [sound for name, sound in lines if _half(name)]
        test += [sound for name, sound in lines if not _half(name)]
        sources.append(f"{GAME_JUDGE} ({len(lines)} spoken lines, judged on alone)")
    return Recordings(joined(train_sounds), joined(dev), joined(test), sources)


def _half(name: str) -> bool:
    """Splits by the beginning of a name: lines of one scene stay together."""
    return zlib.crc32(f"{SPLIT}/{name[:4]}".encode()) % 2 == 0


def joined(sounds: list[Sound]) -> list[Sound]:
    """Short recordings end to end, at their own levels, with 0.2 s between."""
    pieces: list[Sound] = []
    current: list[Sound] = []
    length = 0
    gap = np.zeros(SAMPLE_RATE // 5, np.float32)
    for sound in sounds:
        current += [sound, gap]
        length += len(sound) + len(gap)
        if length > JOINED * SAMPLE_RATE:
            pieces.append(np.concatenate(current))
            current, length = [], 0
    return [*pieces, np.concatenate(current)] if current else pieces


def load(path: Path) -> Sound:
    sound, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return np.asarray(soxr.resample(sound[:, 0], rate, SAMPLE_RATE), np.float32)


def _unpacked(package: str) -> Path:
    folder = cache_folder() / "wakeword" / "debian" / package
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["apt-get", "download", "-qq", package],  # noqa: S607
            cwd=part,
            check=True,
            capture_output=True,
        )
        archive = next(part.glob("*.deb"))
        subprocess.run(["dpkg", "-x", archive.name, "."], cwd=part, check=True)  # noqa: S607
        archive.unlink()
        part.rename(folder)
    return folder
