"""Clips of speech in many voices, made once and kept: the raw material before rooms and noise.

Work is cut into units of a few clips; each unit has its own seed and file, so a run that was
stopped goes on where it was, and the result does not depend on how many processes worked.
"""

import hashlib
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import soundfile  # type: ignore[import-untyped]
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app import models
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE
from firmware_app.settings import Settings
from wakeword import kokoro
from wakeword.phrases import ENDINGS, GREETINGS, SENTENCES, Phrases, blend, request

Sound = NDArray[np.float32]

# Never trained on, in any role: half of each kind chooses the operating point, half reports.
# One speaker's voices stay together.
HELD_OUT_DEV = ("af_sky", "am_eric", "am_onyx", "bf_lily", "bm_fable", "hm_psi", "if_sara")
HELD_OUT_TEST = ("af_nova", "am_puck", "bf_emma", "bm_george", "ef_dora", "pm_alex", "zf_xiaoni")
OTHERS_DEV = ("flite:slt", "festival:ked_diphone", "festival:cmu_us_slt_arctic_hts")
OTHERS_TEST = ("flite:kal", "flite:kal16", "festival:kal_diphone", "piper:joe")
FLITE_TRAIN = ("awb", "rms")
ESPEAK_VOICES = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029", "en-gb-x-gbcwmd")
ESPEAK_VARIANTS = tuple(f"m{i}" for i in range(1, 9)) + tuple(f"f{i}" for i in range(1, 6))
CLIPS_A_UNIT = 16
# By kind; raised when what a unit holds changes, so that kept clips are made anew.
PLANS = {
    "positives": 1,
    "row_positives": 1,
    "nears": 2,
    "sentences": 2,
    "cheap_positives": 1,
    "cheap_negatives": 2,
    "stranger_positives": 1,
    "stranger_nears": 1,
}
HELD_OUT_PLAN = 2  # the same for the held-out voices' clips


@dataclass(frozen=True, slots=True)
class Clip:
    """sound: float32, 16 kHz; start, end: the phrase in it, in samples, or -1 where it is not."""

    sound: Sound
    start: int
    end: int
    voice: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One file's worth of clips. kind names the maker below; number seeds it."""

    kind: str
    number: int

    @property
    def file_name(self) -> str:
        return f"{self.kind}-{PLANS[self.kind]}-{self.number:04d}.npz"


def training_voices() -> list[str]:
    held_out = {*HELD_OUT_DEV, *HELD_OUT_TEST}
    return [v for v in kokoro.shared().voices if v not in held_out]


def _clip(speech: kokoro.Speech, span: tuple[int, int] | None, voice: str, text: str) -> Clip:
    """At 16 kHz, the silence around it trimmed, with the phrase's place.

    span: first phoneme of the phrase and the one after its last, counted in phonemes.
    """
    rate = SAMPLE_RATE / kokoro.SAMPLE_RATE
    sound = soxr.resample(speech.sound, kokoro.SAMPLE_RATE, SAMPLE_RATE).astype(np.float32)
    first, last = voiced(sound)
    start = end = -1
    if span:
        # a phoneme begins where the one before it ends; the model's first has silence before it
        start = int(speech.ends[span[0] - 1] * rate) if span[0] else first
        end = min(int(speech.ends[span[1] - 1] * rate), last)
        start, end = max(start, first) - first, end - first
    return Clip(sound[first:last], start, end, voice, text)


def voiced(sound: Sound, below: float = 35.0) -> tuple[int, int]:
    """First and last sample louder than that many dB below the loudest 10 ms."""
    step = SAMPLE_RATE // 100
    blocks = len(sound) // step
    if not blocks:
        return 0, len(sound)
    power = np.square(sound[: blocks * step].reshape(blocks, step)).mean(axis=1)
    loud = np.flatnonzero(power > power.max() * 10 ** (-below / 10))
    return (int(loud[0]) * step, int(loud[-1] + 1) * step) if len(loud) else (0, len(sound))


def _known(phones: str) -> int:
    vocabulary = kokoro.shared().vocabulary
    return sum(c in vocabulary for c in phones)


def _say(phones: str, phrase_at: tuple[str, str] | None, voice: kokoro.Voice, speed: float) -> Clip:
    """Speak; phrase_at: what comes before the phrase, and the phrase itself."""
    speech = kokoro.shared().speak(phones, voice, speed)
    span = None
    if phrase_at:
        before, phrase = phrase_at
        span = (_known(before), _known(before + phrase))
    return _clip(speech, span, _name(voice), phones)


def _name(voice: kokoro.Voice) -> str:
    if isinstance(voice, kokoro.Stranger):
        return "+".join(sorted({*voice.sound[0], *voice.melody[0]}))
    return voice if isinstance(voice, str) else "+".join(sorted(voice))


def stranger(voices: Sequence[str], rng: random.Random) -> kokoro.Stranger:
    """A new speaker, about as strange as each of the voices is."""
    sound, melody = ((blend(voices, rng), rng.uniform(0.8, 1.15)) for _ in range(2))
    return kokoro.Stranger(sound, melody, tuple(voices))


def positives(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """The phrase: alone, before a request in one breath, or after something else."""
    weights = [1.0 / (1 + 0.35 * i) for i in range(len(phrases.pronunciations))]
    for _ in range(CLIPS_A_UNIT):
        phrase = rng.choices(phrases.pronunciations, weights)[0]
        before = after = ""
        kind = rng.random()
        if kind < 0.45:
            after = rng.choice(ENDINGS)
        elif kind < 0.85:
            after = rng.choice(("", "", ",", "!", ".")) + " " + kokoro.phonemes(request(rng))
        else:
            before = kokoro.phonemes(rng.choice(("well", "so", "oh", "thanks", "right", "now")))
            before += rng.choice((", ", ". ", " "))
            after = rng.choice(ENDINGS)
        speed = rng.choice((0.75, 0.85, 0.95, 1.0, 1.0, 1.1, 1.25, 1.4))
        yield _say(before + phrase + after, (before, phrase), blend(voices, rng), speed)


def row_positives(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """The phrase three times in an utterance, cut apart: more for the cost, and another melody."""
    return _rows(phrases, lambda: blend(voices, rng), rng)


def stranger_positives(
    phrases: Phrases, voices: Sequence[str], rng: random.Random
) -> Iterator[Clip]:
    """The same by strangers."""
    return _rows(phrases, lambda: stranger(voices, rng), rng)


def _rows(
    phrases: Phrases, speaker: Callable[[], kokoro.Voice], rng: random.Random
) -> Iterator[Clip]:
    for _ in range(CLIPS_A_UNIT):
        said = rng.choices(phrases.pronunciations, k=3)
        pieces = [s + rng.choice((".", "!", "?", ",", "…")) for s in said]
        before = ["".join(p + " " for p in pieces[:i]) for i in range(3)]
        voice, speed = speaker(), rng.choice((0.65, 0.75, 0.85, 1.0))
        speech = kokoro.shared().speak(" ".join(pieces), voice, speed)
        places = [(_known(b), _known(b + s)) for b, s in zip(before, said, strict=True)]
        cuts = [0, *(int(speech.ends[first - 1]) for first, _ in places[1:]), len(speech.sound)]
        for (first, last), begin, end in zip(places, cuts, cuts[1:], strict=False):
            alone = kokoro.Speech(speech.sound[begin:end], speech.ends - begin)
            yield _clip(alone, (first, last), _name(voice), "row")


def nears(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """Phrases near the wake word, three to an utterance."""
    return _nears(phrases, phrases.near.seen, lambda: blend(voices, rng), rng)


def stranger_nears(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """The same by strangers, and more of them."""
    texts = phrases.near.seen + phrases.near.further
    return _nears(phrases, texts, lambda: stranger(voices, rng), rng)


def _nears(
    phrases: Phrases, texts: Sequence[str], speaker: Callable[[], kokoro.Voice], rng: random.Random
) -> Iterator[Clip]:
    for _ in range(CLIPS_A_UNIT):
        said = []
        for _ in range(3):
            if rng.random() < 0.5:
                text = rng.choice(texts)
                said.append(kokoro.phonemes(text, rng.choice(("en-us", "en-gb"))))
            else:
                said.append(phrases.mutation(rng))
        phones = " ".join(s + rng.choice((".", "!", "?", ",")) for s in said)
        yield _say(phones, None, speaker(), rng.uniform(0.85, 1.25))


def sentences(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """Speech that has nothing to do with the phrase."""
    for _ in range(CLIPS_A_UNIT):
        text = rng.choice(SENTENCES) if rng.random() < 0.7 else request(rng).capitalize() + "."
        if phrases.said_in(text):
            text = request(rng)
        phones = kokoro.phonemes(text, rng.choice(("en-us", "en-gb")))
        yield _say(phones, None, blend(voices, rng), rng.uniform(0.9, 1.3))


def cheap_positives(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """The phrase in the small voices, which cost next to nothing."""
    for _ in range(CLIPS_A_UNIT):
        yield _small_voice(phrases.phrase, rng, positive=True)


def cheap_negatives(phrases: Phrases, voices: Sequence[str], rng: random.Random) -> Iterator[Clip]:
    """Near phrases and sentences in the small voices."""
    for _ in range(CLIPS_A_UNIT):
        kind = rng.random()
        if kind < 0.5:
            text = ". ".join(rng.sample(phrases.near.seen, 3))
        elif kind < 0.6:
            text = f"{rng.choice(GREETINGS)}, {request(rng)}"
        else:
            text = rng.choice(SENTENCES)
        if phrases.said_in(text):
            text = request(rng)
        yield _small_voice(text, rng, positive=False)


def _small_voice(text: str, rng: random.Random, *, positive: bool) -> Clip:
    if rng.random() < 0.35:
        voice = f"flite:{rng.choice(FLITE_TRAIN)}"
        stretch = rng.uniform(0.8, 1.3)
        sound = _run_flite(text, voice[6:], stretch)
    else:
        voice = f"{rng.choice(ESPEAK_VOICES)}+{rng.choice(ESPEAK_VARIANTS)}"
        sound = _run_espeak(text, voice, rng.randint(120, 210), rng.randint(20, 80))
    first, last = voiced(sound)
    return Clip(sound[first:last], *((0, last - first) if positive else (-1, -1)), voice, text)


def held_out_positives(
    phrases: Phrases, voice: str, rng: random.Random, count: int
) -> Iterator[Clip]:
    """The phrase in one held-out voice: half alone, half (Kokoro) before a request."""
    british = voice.startswith("b")
    phrase = phrases.pronunciations[1 if british and len(phrases.pronunciations) > 1 else 0]
    spoken = phrases.phrase.title()
    if ":" in voice:
        for text in (spoken, f"{spoken}.", f"{spoken}!", f"{spoken}?", spoken.replace(" ", ", ")):
            yield _other_voice(voice, text, positive=True)
        return
    for i in range(count):
        ending = rng.choice(ENDINGS)
        if i % 2:
            ending += " " + kokoro.phonemes(request(rng), "en-gb" if british else "en-us")
        speed = rng.choice((0.85, 1.0, 1.0, 1.0, 1.15))
        yield _say(phrase + ending, ("", phrase), voice, speed)


def held_out_nears(
    phrases: Phrases, voice: str, rng: random.Random, texts: Sequence[str], count: int
) -> Iterator[Clip]:
    """Some of the near phrases in one held-out voice, one a clip."""
    for text in rng.sample(list(texts), min(count, len(texts))):
        if ":" in voice:
            yield _other_voice(voice, text, positive=False)
        else:
            phones = kokoro.phonemes(text, "en-gb" if voice.startswith("b") else "en-us")
            yield _say(phones + rng.choice((".", "!", "?")), None, voice, 1.0)


def held_out_speech(voice: str, text: str) -> Clip:
    """A long text in one held-out voice that costs little (flite, festival or Piper)."""
    return _other_voice(voice, text, positive=False)


def _other_voice(voice: str, text: str, *, positive: bool) -> Clip:
    engine, _, name = voice.partition(":")
    if engine == "flite":
        sound = _run_flite(text, name, 1.0)
    elif engine == "festival":
        sound = _run_festival(text, name)
    else:
        sound = _run_piper(text)
    first, last = voiced(sound)
    return Clip(sound[first:last], *((0, last - first) if positive else (-1, -1)), voice, text)


def available(voice: str) -> bool:
    """Whether this machine has that voice that is no Kokoro voice."""
    engine, _, name = voice.partition(":")
    if engine == "piper":
        return piper_model() is not None
    if engine == "festival":
        return any(Path("/usr/share/festival/voices").glob(f"*/{name}"))
    return shutil.which(engine) is not None


def _run_espeak(text: str, voice: str, speed: int, pitch: int) -> Sound:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.wav"
        command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch)]
        subprocess.run([*command, "-w", str(path), text], check=True, capture_output=True)
        return _load(path)


def _run_flite(text: str, voice: str, stretch: float) -> Sound:
    command = ["flite", "-voice", voice, "--setf", f"duration_stretch={stretch:.2f}"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.wav"
        subprocess.run([*command, "-t", text, "-o", str(path)], check=True, capture_output=True)
        return _load(path)


def _run_festival(text: str, voice: str) -> Sound:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.wav"
        script = f'(voice_{voice}) (utt.save.wave (SynthText "{text}") "{path}" \'riff)'
        (Path(folder) / "say.scm").write_text(script)
        subprocess.run(
            ["festival", "-b", f"{folder}/say.scm"],  # noqa: S607
            check=True,
            capture_output=True,
        )
        return _load(path)


def _run_piper(text: str) -> Sound:
    voice = _piper()
    chunks = [c.audio_float_array for c in voice.synthesize(text)]
    sound = soxr.resample(np.concatenate(chunks), voice.config.sample_rate, SAMPLE_RATE)
    return np.asarray(sound, np.float32)


@cache
def _piper() -> Any:  # noqa: ANN401 - loaded only where the voice is there
    from piper import PiperVoice

    return PiperVoice.load(str(piper_model()))


def piper_model() -> Path | None:
    """Echo's own voice, None where it was not fetched."""
    try:
        return models.find("piper", "", Settings())
    except EngineError:
        return None


def _load(path: Path) -> Sound:
    sound, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return np.asarray(soxr.resample(sound[:, 0], rate, SAMPLE_RATE), np.float32)


Maker = Callable[[Phrases, Sequence[str], random.Random], Iterator[Clip]]
MAKERS: dict[str, Maker] = {
    "positives": positives,
    "row_positives": row_positives,
    "nears": nears,
    "sentences": sentences,
    "cheap_positives": cheap_positives,
    "cheap_negatives": cheap_negatives,
    "stranger_positives": stranger_positives,
    "stranger_nears": stranger_nears,
}


def make(unit: Unit, phrases: Phrases, folder: Path) -> bool:
    """Make a unit's clips, unless they are there already (then False)."""
    path = folder / unit.file_name
    if path.exists():
        return False
    name = f"{PLANS[unit.kind]}/{phrases.phrase}/{unit.kind}/{unit.number}"
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    rng = random.Random(seed)  # noqa: S311
    save(path, MAKERS[unit.kind](phrases, training_voices(), rng))
    return True


def save(path: Path, clips: Iterable[Clip]) -> None:
    kept = list(clips)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        sound=np.concatenate([(np.clip(c.sound, -1, 1) * 32767).astype(np.int16) for c in kept]),
        lengths=np.array([len(c.sound) for c in kept]),
        spans=np.array([(c.start, c.end) for c in kept]),
        voices=np.array([c.voice for c in kept]),
        texts=np.array([c.text for c in kept]),
    )
    part.replace(path)


def load(path: Path) -> list[Clip]:
    with np.load(path) as file:
        sound = file["sound"].astype(np.float32) / 32768
        pieces = np.split(sound, np.cumsum(file["lengths"])[:-1])
        rows = zip(pieces, file["spans"], file["voices"], file["texts"], strict=True)
        return [Clip(p, int(s[0]), int(s[1]), str(v), str(t)) for p, s, v, t in rows]
