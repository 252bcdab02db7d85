"""A whole run, step by step: clips, scenes, features, training, judging, card."""

import hashlib
import json
import multiprocessing
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from firmware_app.engines.wake_verifier import network_path
from wakeword import dataset, evaluation, kokoro, looks, owner, recordings, voices
from wakeword.card import Facts
from wakeword.dataset import Job
from wakeword.journal import Journal
from wakeword.kokoro import cache_folder
from wakeword.phrases import Phrases, phrases_for
from wakeword.report import Material, judge
from wakeword.second_stage import Opinions, load_whisper
from wakeword.voices import Unit
from wakeword.work import Pieces, Places, Worker


@dataclass(frozen=True)
class Plan:
    """How much of everything. units: by kind; turns: scenes made of each clip; steps: of Adam."""

    name: str
    units: dict[str, int]
    turns: dict[str, int]
    pieces: int | None  # of real recordings; None takes all
    noise: int  # jobs of two minutes
    rooms: int
    steps: int
    packages: bool  # fetch Debian's recordings
    look_turns: int  # scenes of each clip that the second stage learns from
    look_pieces: int  # recordings that it learns from
    look_steps: int  # of Adam, for the second stage
    noisy: int = 2  # one in so many recordings also in rooms and noise
    members: int = 8  # networks of the head whose opinions are averaged
    look_members: int = 4  # the same of the second stage
    judged_voices: int | None = None  # held-out voices a half; None takes all
    judged_clips: int = 12  # with the phrase, of each held-out voice


FULL = Plan(
    "full",
    {
        "positives": 38,
        "row_positives": 30,
        "nears": 28,
        "sentences": 2,
        "cheap_positives": 54,
        "cheap_negatives": 44,
        "stranger_positives": 32,
        "stranger_nears": 32,
    },
    {
        "positives": 9,
        "row_positives": 6,
        "nears": 6,
        "sentences": 3,
        "cheap_positives": 2,
        "cheap_negatives": 2,
        "stranger_positives": 4,
        "stranger_nears": 4,
    },
    pieces=None,
    noise=40,
    rooms=160,
    steps=12_000,
    packages=True,
    look_turns=3,
    look_pieces=600,
    look_steps=1600,
)
QUICK = Plan(
    "quick",
    {
        "positives": 1,
        "row_positives": 0,
        "nears": 1,
        "sentences": 0,
        "cheap_positives": 5,
        "cheap_negatives": 5,
    },
    {
        "positives": 8,
        "row_positives": 3,
        "nears": 4,
        "sentences": 1,
        "cheap_positives": 2,
        "cheap_negatives": 2,
    },
    pieces=50,
    noise=2,
    rooms=16,
    steps=1000,
    packages=False,
    look_turns=2,
    look_pieces=20,
    look_steps=300,
    members=1,
    look_members=1,
    judged_voices=1,
    judged_clips=4,
)


@dataclass
class Progress:
    """Says how far a step is, and how long it will still take, every few seconds."""

    name: str
    total: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    said: float = 0.0

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.said < 5 and self.done < self.total:
            return
        self.said = now
        left = (now - self.began) / self.done * (self.total - self.done)
        print(f"{self.name}: {self.done} of {self.total}, {left / 60:.1f} min left", flush=True)


def tell(text: str) -> None:
    print(text, flush=True)


class Run:
    """One phrase's run. negatives: folders of recordings; None looks where they usually are."""

    def __init__(
        self,
        phrase: str,
        plan: Plan,
        out: Path,
        negatives: Sequence[Path] | None,
        jobs: int,
        seed: int,
    ) -> None:
        self.phrases: Phrases = phrases_for(phrase)
        self.plan, self.out, self.jobs, self.seed = plan, out, max(1, jobs), seed
        self.folders = _folders(negatives)
        slug = self.phrases.phrase.replace(" ", "_")
        self.slug = slug
        self.cache = cache_folder() / "wakeword"
        self.clips = self.cache / "clips" / slug
        made_of = [plan.rooms, plan.packages, self.folders, dataset.AUGMENTATION, voices.PLANS]
        known = ",".join(map(str, made_of))
        key = hashlib.sha256(known.encode()).hexdigest()[:8]
        self.features = self.cache / "features" / f"{slug}-{plan.name}-{key}"
        self.looks = self.cache / "looks" / f"{slug}-{plan.name}-{key}-{looks.LOOKING}"
        self.head = out / f"{slug}.onnx"
        self.journal = Journal(self.cache / "seconds" / f"{slug}-{plan.name}.json")

    def everything(self) -> None:
        began = time.monotonic()
        tell(f"training a head for {self.phrases.phrase!r} ({self.plan.name} run)")
        tell(f"recordings: {', '.join(map(str, self.folders)) or 'none'}")
        kokoro.fetch()
        real, sources = self.recordings()
        pool = Pool(self.places(real), self.jobs, self.journal)
        pool.do("clips", "make_clips", [(u,) for u in self.units()])
        pieces = len(Pieces(real["train"]))
        pool.do("features", "make_scenes", [(job,) for job in self.scene_jobs(pieces)])
        windows = self.train(pieces)
        opinions = self.second_stage(pool, pieces)
        material = self.prepare_judging(pool, real)
        pool.close()
        facts = Facts(
            self.plan.name,
            self.seed,
            self.journal.minutes(),
            self.jobs,
            {kind: count * voices.CLIPS_A_UNIT for kind, count in self.plan.units.items()},
            windows,
            opinions.windows if opinions else None,
            sources,
            {split: self.judged_voices(split) for split in ("dev", "test")},
        )
        report = judge(
            self.phrases,
            self.head,
            material,
            facts,
            tell,
            opinions,
        )
        tell(f"done in {(time.monotonic() - began) / 60:.1f} minutes: {self.head}\n{report}")

    def units(self) -> list[Unit]:
        """Kinds take turns, so that a stopped run has something of each."""
        found = [
            (number / count, Unit(kind, number))
            for kind, count in self.plan.units.items()
            for number in range(count)
        ]
        return [unit for _, unit in sorted(found, key=lambda pair: pair[0])]

    def scene_jobs(self, pieces: int) -> list[Job]:
        plan = self.plan
        jobs = [Job(u.kind, u.number, t) for u in self.units() for t in range(plan.turns[u.kind])]
        pieces = pieces if plan.pieces is None else min(pieces, plan.pieces)
        jobs += [Job("real", n, 0) for n in range(pieces)]
        jobs += [Job("real", n, 1) for n in range(0, pieces, plan.noisy)]
        return jobs + [Job("noise", n, 0) for n in range(plan.noise)]

    def look_jobs(self, pieces: int) -> list[Job]:
        """What the second stage learns from: some of the head's, of noise a quarter."""
        jobs = [j for j in self.scene_jobs(pieces) if j.source != "noise" or j.number < 10]
        random.Random(1).shuffle(jobs)  # noqa: S311
        real = [j for j in jobs if j.source == "real"][: self.plan.look_pieces]
        turns = self.plan.look_turns
        return real + [
            j for j in jobs if j.source.endswith("nears") or (j.source != "real" and j.turn < turns)
        ]

    def places(self, real: dict[str, Path]) -> Places:
        noise = [folder.parent / "noise" for folder in self.folders]
        return Places(
            self.phrases,
            self.clips,
            self.cache / "held_out" / f"{self.slug}-{self.plan.name}-{voices.HELD_OUT_PLAN}",
            self.features,
            self.looks,
            self.cache / "judged" / f"{self.slug}-{self.plan.name}-{evaluation.JUDGING}",
            self.head,
            real,
            next((folder for folder in noise if folder.is_dir()), None),
            self.plan.rooms,
            self.plan.judged_clips,
        )

    def recordings(self) -> tuple[dict[str, Path], list[str]]:
        """Files of real speech by split, decoded once, and what they are."""
        key = hashlib.sha256(
            f"{self.folders}{self.plan.packages}{recordings.SPLIT}".encode()
        ).hexdigest()[:8]
        folder = self.cache / f"recordings-{key}"
        files = {split: folder / f"{split}.npy" for split in ("train", "dev", "test")}
        if not (folder / "sources.json").exists():
            tell("reading the recordings of real speech")
            folder.mkdir(parents=True, exist_ok=True)
            found = recordings.gather(self.folders, packages=self.plan.packages)
            for split, path in files.items():
                Pieces.write(path, getattr(found, split))
            (folder / "sources.json").write_text(json.dumps(found.sources))
        return files, json.loads((folder / "sources.json").read_text())

    def train(self, pieces: int) -> tuple[int, int, int]:
        """Write the head; how many windows with the phrase, near and other it learnt from."""
        tell("training")
        jobs = self.scene_jobs(pieces)
        paths = [self.features / f"{job.name}.npz" for job in jobs]
        bank = dataset.bank(paths)
        tell(
            f"{len(bank.positive)} windows with the phrase, {len(bank.near)} of near phrases, "
            f"{len(bank.other)} of other sound"
        )
        members = self._networks(
            "training", _train_member, paths, self.plan.steps, self.plan.members
        )
        from wakeword import training

        training.export(members, self.head)
        owner.keep_negatives(bank, self.head, self.seed)
        return len(bank.positive), len(bank.near), len(bank.other)

    def second_stage(self, pool: "Pool", pieces: int) -> Opinions | None:
        """Train the second stage on the head's doubts; None where its recogniser is not there."""
        whisper = load_whisper()
        if whisper is None:
            return None
        jobs = self.look_jobs(pieces)
        pool.do("second looks", "make_looks", [(job,) for job in jobs])
        paths = [self.looks / f"{job.name}.npz" for job in jobs]
        tell("training the second stage")
        members = self._networks(
            "second stage", _train_second, paths, self.plan.look_steps, self.plan.look_members
        )
        from wakeword import second_training

        network = network_path(self.head, whisper.name)
        second_training.export(members, network)
        folder = self.places({}).judged
        return Opinions(whisper, self.phrases.phrase, network, folder, looks.counted(paths))

    def _networks(
        self, name: str, train: "Trainer", paths: list[Path], steps: int, count: int
    ) -> list[dict[str, Any]]:
        """The parameters of so many networks, trained side by side."""
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self.jobs, count), mp_context=context) as pool:
            waiting = [
                pool.submit(train, paths, steps, self.seed, member) for member in range(count)
            ]
            results = [future.result() for future in waiting]
        for member, (_, seconds) in enumerate(results):
            self.journal.note(name, f"{self.seed}/{member}", seconds)
        return [parameters for parameters, _ in results]

    def judged_voices(self, split: str) -> list[str]:
        own, others = {
            "dev": (voices.HELD_OUT_DEV, voices.OTHERS_DEV),
            "test": (voices.HELD_OUT_TEST, voices.OTHERS_TEST),
        }[split]
        most = self.plan.judged_voices
        return [*own[:most], *[v for v in others[:most] if voices.available(v)]]

    def judged_sounds(self, split: str, pieces: int) -> list[tuple[str, str, int]]:
        """Sound without the phrase: split, kind, number."""
        minutes = 20 if self.plan.judged_voices is None else 1
        kinds = [
            (split, kind, n) for kind in ("music", "television", "noise") for n in range(minutes)
        ]
        if self.plan.judged_voices is None:
            kinds += [(split, "synthetic", n) for n in range(8)]
            kinds += [(split, "real", n) for n in range(pieces)]
        else:
            kinds += [(split, "real", n) for n in range(min(pieces, 10))]
        return kinds

    def prepare_judging(self, pool: "Pool", real: dict[str, Path]) -> Material:
        both = ("dev", "test")
        people = [(s, v) for s in both for v in self.judged_voices(s)]
        pool.do("held-out voices", "held_out_clips", people)
        pool.do("judged scenes", "judge_voice", people)
        sounds = {s: self.judged_sounds(s, len(Pieces(real[s]))) for s in both}
        pool.do("judged sound", "judge_sound", [j for s in both for j in sounds[s]])
        return Material(Worker(self.places(real)), {s: self.judged_voices(s) for s in both}, sounds)


class Pool:
    """Processes that each keep a Worker; one process works in this one."""

    def __init__(self, places: Places, count: int, journal: Journal) -> None:
        self._journal = journal
        self._worker = Worker(places) if count == 1 else None
        context = multiprocessing.get_context("spawn")
        self._pool = (
            None
            if count == 1
            else ProcessPoolExecutor(
                count, mp_context=context, initializer=_begin, initargs=(places,)
            )
        )

    def do(self, name: str, method: str, jobs: Sequence[tuple[Any, ...]]) -> None:
        """Do all jobs, telling how far it is."""
        progress = Progress(name, len(jobs))
        if self._worker:
            for job in jobs:
                self._journal.note(name, str(job), _timed(self._worker, method, job))
                progress.step()
        elif self._pool:
            waiting = {self._pool.submit(_do, method, job): job for job in jobs}
            for done in as_completed(waiting):
                self._journal.note(name, str(waiting[done]), done.result())
                progress.step()
        self._journal.keep()

    def close(self) -> None:
        if self._pool:
            self._pool.shutdown()


# A network's parameters, and the seconds that training took, None where they were kept.
Trained: TypeAlias = tuple[dict[str, Any], float | None]
Trainer: TypeAlias = Callable[[Sequence[Path], int, int, int], Trained]


def _train_member(paths: Sequence[Path], steps: int, seed: int, member: int) -> Trained:
    from wakeword import training

    return _kept(
        paths,
        f"{training.RECIPE}/{steps}",
        f"{seed}-{member}",
        lambda: training.train_member(dataset.bank(paths), steps, seed, member, tell),
    )


def _train_second(paths: Sequence[Path], steps: int, seed: int, member: int) -> Trained:
    from wakeword import second_training

    return _kept(
        paths,
        f"{second_training.RECIPE}/{steps}",
        f"{seed}-{member}",
        lambda: second_training.train_member(
            second_training.looks(paths), steps, seed, member, tell
        ),
    )


def _kept(
    paths: Sequence[Path], recipe: str, which: str, train: Callable[[], dict[str, Any]]
) -> Trained:
    """Networks are kept beside what they were learnt from."""
    names = "".join(path.stem for path in paths)
    key = hashlib.sha256(f"{recipe}/{names}".encode()).hexdigest()[:8]
    kept = paths[0].parent / f"network-{key}-{which}.npz"
    seconds = None
    if not kept.exists():
        began = time.monotonic()
        part = kept.with_suffix(".part.npz")
        np.savez(part, **train())
        part.replace(kept)
        seconds = time.monotonic() - began
    with np.load(kept) as file:
        return dict(file), seconds


_mine: list[Worker] = []


def _begin(places: Places) -> None:
    _mine.append(Worker(places))


def _do(method: str, job: tuple[Any, ...]) -> float | None:
    return _timed(_mine[0], method, job)


def _timed(worker: Worker, method: str, job: tuple[Any, ...]) -> float | None:
    """Do a job; seconds, None where its result was kept from an earlier run."""
    began = time.monotonic()
    return time.monotonic() - began if getattr(worker, method)(*job) else None


def _folders(named: Sequence[Path] | None) -> list[Path]:
    """Folders of recordings: those named, else the usual place, else none and where to get some."""
    if named:
        for folder in named:
            if not folder.is_dir():
                raise SystemExit(f"{folder} is no folder. Name one that holds recordings.")
        return [folder.resolve() for folder in named]
    base = recordings.default_folder()
    if base is None:
        tell(
            f"No recordings of real speech here; the head will wake more often by itself. "
            f"Public ones: {recordings.PUBLIC_SOURCE}."
        )
        return []
    return [base / name for name in ("wake", "speech") if (base / name).is_dir()]
