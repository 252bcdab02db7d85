"""Judges a trained head, chooses its operating points, and writes its figures beside it."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from firmware_app.engines.wake import STEP, FeatureModels, FeatureStream
from firmware_app.frames import SAMPLE_RATE, Samples
from wakeword import card, choosing, owner
from wakeword.evaluation import ScoredHead, first_crossing
from wakeword.features import feature_folder
from wakeword.judging import Figures, Rule, Scored, figures
from wakeword.phrases import Phrases
from wakeword.second_stage import Opinions
from wakeword.work import Worker, load_cases

TABLE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
GATED = ("clean", "far 10 dB", "far 5 dB", "quiet")  # conditions that the gate is judged on
LEAST_DOUBTFUL = 0.1  # with .05 three times as many second looks, for hardly more calls


@dataclass(frozen=True)
class Material:
    """What a head is judged on. voices, sounds: by split."""

    worker: Worker
    voices: dict[str, list[str]]
    sounds: dict[str, list[tuple[str, str, int]]]


@dataclass(frozen=True)
class Chosen:
    """One sensitivity: its rules and what they do on the test half."""

    rule: Rule
    alone: Rule
    figures: Figures
    figures_alone: Figures


def scored(material: Material, split: str, head: Path, opinions: Opinions | None) -> list[Scored]:
    """Every judged recording of a half, with the head's scores."""
    run = ScoredHead(head)
    found = []

    def fit_of(name: str, samples: Callable[[], Samples]) -> Callable[[int], float]:
        return opinions.of(name, samples) if opinions else lambda _: 0.0

    for voice in material.voices[split]:
        for what in ("positives", "seen", "unseen"):
            path = material.worker.judged_path(split, what, voice)
            for i, case in enumerate(load_cases(path)):
                fit = fit_of(f"{path.stem}/{i}", lambda kept=case.samples: kept)  # type: ignore[misc]
                scores = run(case.embeddings)
                found.append(Scored(what, case.condition, voice, case.start, case.end, scores, fit))
    for half, kind, number in material.sounds[split]:
        path = material.worker.places.judged / f"{half}-{kind}-{number:04d}.npz"
        with np.load(path) as file:
            scores = run(file["rows"].astype(np.float32))
        fit = fit_of(
            path.stem,
            lambda a=half, b=kind, c=number: material.worker.sound(a, b, c),  # type: ignore[misc]
        )
        found.append(Scored(kind, "", "", -1, -1, scores, fit))
    return found


def phrase_length(everything: Sequence[Scored]) -> int:
    """Typical length of the phrase in samples."""
    return int(median(s.end - s.start for s in everything if s.group == "positives"))


def offset(everything: Sequence[Scored], threshold: float) -> int:
    """Median samples from the phrase's end to the step in which the head first wakes."""
    found = []
    for s in everything:
        if s.group == "positives" and s.condition == "clean":
            step = first_crossing(s.scores, s, threshold)
            if step is not None:
                found.append((step + 1) * STEP - s.end)
    return int(median(found)) if found else 0


def judge(
    phrases: Phrases,
    head: Path,
    material: Material,
    facts: card.Facts,
    tell: Callable[[str], None],
    opinions: Opinions | None,
) -> str:
    """Choose on one half, report on the other; write the JSON and the card beside the head.

    opinions: the second stage's, None where there is none.
    """
    tell("choosing the operating points")
    plain = scored(material, "dev", head, None)
    length = phrase_length(plain)
    if opinions:
        opinions.phrase_samples = length
    weighed = {"", "clean", "far 10 dB", *choosing.HEARD}
    dev = [
        s
        for s in scored(material, "dev", head, opinions)
        if s.condition in weighed and s.group not in ("synthetic", "television", "music", "noise")
    ]
    chosen: dict[str, Chosen] = {}
    test = scored(material, "test", head, opinions)
    like: Rule | None = None  # the second stage is the same at every sensitivity
    for name in ("normal", "low", "high"):
        plain_like = chosen["normal"].alone if "normal" in chosen else None
        rule = alone = choosing.alone(dev, name, plain_like)
        if opinions:
            rule = choosing.two_stages(dev, name, LEAST_DOUBTFUL, like)
            like = like or rule
        chosen[name] = Chosen(rule, alone, figures(test, rule), figures(test, alone))
        tell(f"{name}: {rule}, alone {alone.wakes}")
        if opinions:
            opinions.keep()
    chosen = {name: chosen[name] for name in choosing.AIMS}
    normal = chosen["normal"]
    after = offset(dev, normal.rule.wakes)
    write_facts(phrases, head, chosen, after, length, opinions)
    tables = {t: figures(test, Rule(t)) for t in TABLE}
    stock = stock_alarms(material)
    costs = cost(head, material)
    gates = gate_effect(head, material, normal.alone.wakes)
    adapted = adaptation(head, material, normal.alone.wakes)
    look_ms = None
    if opinions:
        look_ms = opinions.cost_ms(material.worker.sound(*material.sounds["test"][-1]))
    return card.write(phrases, head, facts, chosen, tables, stock, costs, look_ms, gates, adapted)


def write_facts(
    phrases: Phrases,
    head: Path,
    chosen: dict[str, Chosen],
    after: int,
    length: int,
    opinions: Opinions | None,
) -> None:
    """The JSON that the detector reads."""
    rule = chosen["normal"].rule
    facts: dict[str, object] = {
        "phrase": phrases.phrase,
        "operating_points": {
            name: {
                "doubtful": c.rule.wakes,
                "certain": max(c.rule.certain, c.rule.wakes),
                "alone": c.alone.wakes,
            }
            for name, c in chosen.items()
        },
        "detection_after_end_ms": round(after * 1000 / SAMPLE_RATE),
        "phrase_ms": round(length * 1000 / SAMPLE_RATE),
    }
    if opinions:
        facts["second_stage"] = {
            "model": opinions.model,
            "texts": list(opinions.texts),
            "accept": rule.accept,
            "weight": rule.weight,
        }
    head.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def adaptation(head: Path, material: Material, threshold: float) -> owner.Adaptation | None:
    """The owner's adaptation, with the test half's voices as owners."""
    people = {}
    for voice in material.voices["test"]:
        cases = [
            list(load_cases(material.worker.judged_path("test", what, voice)))
            for what in ("positives", "seen", "unseen")
        ]
        people[voice] = (cases[0], cases[1] + cases[2])
    real = []
    for half, kind, number in material.sounds["test"]:
        if kind == "real" and number % 4 == 0:  # a quarter: each owner hears all of it
            with np.load(material.worker.places.judged / f"{half}-{kind}-{number:04d}.npz") as file:
                real.append(file["rows"].astype(np.float32))
    return owner.measure(head, threshold, people, real)


def stock_alarms(material: Material) -> Figures | None:
    """openWakeWord's own "alexa" head on the same recordings without the phrase."""
    head = feature_folder() / "alexa_v0.1.onnx"
    if not head.exists():
        return None
    run = ScoredHead(head)
    found = []
    for half, kind, number in material.sounds["test"]:
        path = material.worker.places.judged / f"{half}-{kind}-{number:04d}.npz"
        with np.load(path) as file:
            scores = run(file["rows"].astype(np.float32))
        found.append(Scored(kind, "", "", -1, -1, scores, lambda _: 0.0))
    return figures(found, Rule(0.5))


def gate_effect(
    head: Path, material: Material, threshold: float
) -> dict[str, tuple[int, int, int]]:
    """By condition: phrases, heard with all embeddings, heard through the gate."""
    models = FeatureModels(feature_folder())
    run = ScoredHead(head)
    found: dict[str, tuple[int, int, int]] = {}
    for voice in material.voices["test"]:
        for case in load_cases(material.worker.judged_path("test", "positives", voice)):
            if case.condition not in GATED:
                continue
            stream = FeatureStream(models)
            begins = range(0, len(case.samples) - STEP + 1, STEP)
            steps = [stream.feed(case.samples[i : i + STEP]) for i in begins]
            gated = np.array([0.0 if s is None else run(s)[0] for s in steps], np.float32)
            open_ = run(case.embeddings)
            heard = [first_crossing(s, case, threshold) is not None for s in (open_, gated)]
            all_, plain, kept = found.get(case.condition, (0, 0, 0))
            found[case.condition] = (all_ + 1, plain + heard[0], kept + heard[1])
    return found


def cost(head: Path, material: Material) -> dict[str, float]:
    """CPU milliseconds a step of 80 ms: busy, idle with and without the gate; head alone."""
    models = FeatureModels(feature_folder())
    run = ScoredHead(head)
    rng = np.random.default_rng(0)
    quiet = (rng.standard_normal(60 * SAMPLE_RATE) * 20).astype(np.int16)
    found = {}
    for name, sound, gated in (
        ("speech, gated", material.worker.sound(*material.sounds["test"][-1]), True),
        ("idle, gated", quiet, True),
        ("idle, not gated", quiet, False),
    ):
        stream = FeatureStream(models, gated=gated)
        steps = [sound[i : i + STEP] for i in range(0, len(sound) - STEP + 1, STEP)]
        began = time.process_time()
        for step in steps:
            embeddings = stream.feed(step)
            if embeddings is not None:
                run(embeddings)
        found[name] = (time.process_time() - began) / len(steps) * 1000
    return found
