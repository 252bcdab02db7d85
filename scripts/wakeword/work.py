"""What the processes of a run do: small jobs, each leaving a file behind."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from firmware_app.frames import SAMPLE_RATE, Samples
from wakeword import dataset, evaluation, rooms, scenes, voices
from wakeword.dataset import Job, Workshop
from wakeword.evaluation import CONDITIONS, Case, ScoredHead
from wakeword.features import LongFeatures
from wakeword.looks import Looking
from wakeword.phrases import SENTENCES, Phrases
from wakeword.rooms import Sound
from wakeword.second_stage import load_whisper
from wakeword.voices import Unit

SPEECH_AROUND = 150  # pieces of recordings kept in memory for the background


class Pieces(Sequence[Sound]):
    """Recordings on disk, read as they are asked for."""

    def __init__(self, path: Path) -> None:
        self._sound = np.load(path, mmap_mode="r")
        self._ends = np.cumsum(np.load(path.with_suffix(".lengths.npy"))).tolist()

    @staticmethod
    def write(path: Path, sounds: Sequence[Sound]) -> None:
        whole = [scenes.to_int16(s) for s in sounds]
        np.save(path.with_suffix(".lengths.npy"), np.array([len(s) for s in whole], np.int64))
        np.save(path, np.concatenate(whole) if whole else np.empty(0, np.int16))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> Sound: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sound]: ...
    def __getitem__(self, index: int | slice) -> Sound | Sequence[Sound]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        begin = self._ends[index - 1] if index else 0
        sound: Sound = self._sound[begin : self._ends[index]].astype(np.float32) / 32768
        return sound


@dataclass(frozen=True)
class Places:
    """Folders and seeds that every process of a run shares."""

    phrases: Phrases
    clips: Path
    held_out: Path
    features: Path
    looks: Path
    judged: Path
    head: Path  # the trained head, once it is there
    real: dict[str, Path]  # split: file of recordings
    noise_folder: Path | None  # real noises, to judge with
    rooms: int
    judged_clips: int  # with the phrase, of each held-out voice; near phrases in proportion


class Worker:
    """One process of a run. Its jobs return whether there was anything left to make."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.features = LongFeatures()
        self.real = {split: Pieces(path) for split, path in places.real.items()}
        self._looking: Looking | None = None
        self._made: dict[tuple[str, str, int], Samples] = {}  # music and noise cost much to make
        self._judges: dict[str, tuple[evaluation.Rooms, list[Sound], list[Sound]]] = {}

    def make_clips(self, unit: Unit) -> bool:
        return voices.make(unit, self.places.phrases, self.places.clips)

    @cached_property
    def _workshop(self) -> Workshop:
        world = dataset.world(1, self.places.rooms, self._around("train"))
        places = self.places
        return Workshop(places.clips, places.features, world, self.real["train"], self.features)

    def make_scenes(self, job: Job) -> bool:
        return self._workshop.do(job)

    def make_looks(self, job: Job) -> bool:
        """What the second stage learns from; the head must be there."""
        if self._looking is None:
            whisper = load_whisper()
            if whisper is None:
                return False
            head = ScoredHead(self.places.head)
            self._looking = Looking(self._workshop, head, whisper, self.places.looks)
        return self._looking.do(job)

    def _around(self, split: str) -> list[Sound]:
        """Speech for the background; the cheap voices' where there are no recordings."""
        if len(self.real[split]):
            return list(self.real[split][:SPEECH_AROUND])
        paths = sorted(
            self.places.clips.glob(f"cheap_negatives-{voices.PLANS['cheap_negatives']}-*.npz")
        )[:10]
        return [c.sound for p in paths for c in voices.load(p)]

    def held_out_clips(self, split: str, voice: str) -> bool:
        """The phrase and near phrases in a voice that is never trained on."""
        phrases, anything = self.places.phrases, False
        unseen = phrases.near.unseen_dev if split == "dev" else phrases.near.unseen_test
        for what in ("positives", "seen", "unseen"):
            path = self.held_out_path(split, what, voice)
            if path.exists():
                continue
            rng = random.Random(f"{voices.HELD_OUT_PLAN}/{split}/{what}/{voice}")  # noqa: S311
            count = self.places.judged_clips
            if what == "positives":
                made = voices.held_out_positives(phrases, voice, rng, count)
            elif what == "seen":
                made = voices.held_out_nears(
                    phrases, voice, rng, phrases.near.seen, count * 7 // 10
                )
            else:
                made = voices.held_out_nears(phrases, voice, rng, unseen, count * 6 // 10)
            voices.save(path, made)
            anything = True
        return anything

    def held_out_path(self, split: str, what: str, voice: str) -> Path:
        return self.places.held_out / f"{split}-{what}-{voice.replace(':', '_')}.npz"

    def judge_voice(self, split: str, voice: str) -> bool:
        """All conditions of a held-out voice: recordings and embeddings."""
        responses, noises, talkers = self._judge(split)
        anything = False
        for what in ("positives", "seen", "unseen"):
            path = self.judged_path(split, what, voice)
            if path.exists():
                continue
            clips = voices.load(self.held_out_path(split, what, voice))
            conditions = CONDITIONS if what == "positives" else CONDITIONS[:2]
            seed = int.from_bytes(f"{split}{what}{voice}".encode()) % 2**32
            found = evaluation.cases(
                clips, conditions, responses, noises, talkers, self.features, seed
            )
            save_cases(path, list(found))
            anything = True
        return anything

    def judged_path(self, split: str, what: str, voice: str) -> Path:
        return self.places.judged / f"{split}-{what}-{voice.replace(':', '_')}.npz"

    def _judge(self, split: str) -> tuple[evaluation.Rooms, list[Sound], list[Sound]]:
        """Rooms, noises and talkers of a half, shared with nothing else."""
        if split not in self._judges:
            seed = {"dev": 303, "test": 404}[split]
            speech = self._around(split)
            rng = np.random.default_rng(seed)
            living = [rooms.living_room(rng) for _ in range(40)]
            responses = {"living": living, "any": [rooms.room(rng) for _ in range(40)]}
            length = 20 * SAMPLE_RATE
            noises = [rooms.coloured(rng, length), rooms.hum(rng, length)]
            noises.append(rooms.babble(rng, length, speech, (4, 6, 8)))
            noises += _real_noise(self.places.noise_folder, split)
            talkers = [rooms.run_of_speech(rng, length, speech) for _ in range(8)]
            self._judges[split] = responses, noises, talkers
        return self._judges[split]

    def judge_sound(self, split: str, kind: str, number: int) -> bool:
        """Embeddings of sound without the phrase: real, synthetic speech, music or noise."""
        path = self.places.judged / f"{split}-{kind}-{number:04d}.npz"
        if path.exists():
            return False
        sound = self.sound(split, kind, number)
        rows = self.features(sound)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, rows=rows.astype(np.float16))
        return True

    def sound(self, split: str, kind: str, number: int) -> Samples:
        """That sound itself, the same each time."""
        if kind == "real":
            return scenes.to_int16(self.real[split][number])
        rng = np.random.default_rng((number, *kind.encode(), *split.encode()))
        if kind == "synthetic":
            return self._synthetic(split, number)
        key = (split, kind, number)
        if key not in self._made:
            self._made[key] = self._make(rng, split, kind, number)
        return self._made[key]

    def _make(self, rng: np.random.Generator, split: str, kind: str, number: int) -> Samples:
        length = 60 * SAMPLE_RATE
        level = 10 ** (rng.uniform(-45, -15) / 20)
        if kind == "music":
            return scenes.to_int16(rooms.music(rng, length) * level)
        if kind == "television":
            return scenes.to_int16(rooms.babble(rng, length, self._around(split)) * level)
        maker = (rooms.coloured, rooms.hum, rooms.clatter)[number % 3]
        return scenes.to_int16(maker(rng, length) * level)

    def _synthetic(self, split: str, number: int) -> Samples:
        others = voices.OTHERS_DEV if split == "dev" else voices.OTHERS_TEST
        names = [name for name in others if voices.available(name)]
        path = self.places.held_out / f"{split}-sentences-{number}.npz"
        if not path.exists():
            half = SENTENCES[number::2]
            voice = names[number % len(names)]
            voices.save(path, [voices.held_out_speech(voice, " ".join(half))])
        return scenes.to_int16(voices.load(path)[0].sound * 0.3)


def _real_noise(folder: Path | None, split: str) -> list[Sound]:
    """A real kitchen, where there is one: its first half to choose, the second to report."""
    found = []
    for path in sorted(folder.glob("kitchen*")) if folder else []:
        from wakeword.recordings import load

        sound = load(path)
        half = len(sound) // 2
        found.append(sound[:half] if split == "dev" else sound[half:])
    return found


def save_cases(path: Path, found: Sequence[Case]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    about = [(c.start, c.end, c.condition, c.voice) for c in found]
    np.savez(
        part,
        about=np.array(json.dumps(about)),
        samples=np.concatenate([c.samples for c in found]),
        lengths=np.array([len(c.samples) for c in found]),
        rows=np.concatenate([c.embeddings for c in found]).astype(np.float16),
        row_lengths=np.array([len(c.embeddings) for c in found]),
    )
    part.replace(path)


def load_cases(path: Path) -> Iterator[Case]:
    with np.load(path) as file:
        samples = np.split(file["samples"], np.cumsum(file["lengths"])[:-1])
        rows = np.split(file["rows"], np.cumsum(file["row_lengths"])[:-1])
        about = json.loads(str(file["about"]))
    for sound, row, (start, end, condition, voice) in zip(samples, rows, about, strict=True):
        yield Case(sound, start, end, condition, voice, row.astype(np.float32))
