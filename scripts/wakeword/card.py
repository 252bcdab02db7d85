# ruff: noqa: RUF001, ISC004 - typographic dashes; long sentences in lists
"""The model card, written from a run's own figures and nothing else."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_app.engines.phrase_network import SOUND
from firmware_app.engines.wake import CONTEXT
from firmware_app.frames import SAMPLE_RATE
from wakeword import voices
from wakeword.dataset import USED
from wakeword.evaluation import CONDITIONS
from wakeword.judging import Figures, Rule, share
from wakeword.owner import Adaptation
from wakeword.phrases import Phrases

if TYPE_CHECKING:
    from wakeword.report import Chosen

GROUPS = ("real", "synthetic", "television", "music", "noise")


@dataclass(frozen=True)
class Facts:
    """What the run knows about itself.

    minutes: of one process, for all pieces of the run, kept ones with what they took when they
    were made; windows: with the phrase, near phrases, other; looks: the same for the second stage,
    where there is one.
    """

    plan: str
    seed: int
    minutes: float
    jobs: int
    clips: Mapping[str, int]
    windows: tuple[int, int, int]
    looks: tuple[int, int, int] | None
    sources: Sequence[str]
    judged: Mapping[str, Sequence[str]]


def write(
    phrases: Phrases,
    head: Path,
    facts: Facts,
    chosen: "Mapping[str, Chosen]",
    tables: Mapping[float, Figures],
    stock: Figures | None,
    costs: Mapping[str, float],
    look_ms: float | None,
    gates: Mapping[str, tuple[int, int, int]],
    adapted: Adaptation | None,
) -> str:
    """Write the card beside the head; return its summary."""
    parts = [
        f"# Model card: “{phrases.phrase.title()}”",
        "Written by `scripts/train_wakeword.py` from its own run; do not edit.",
        _about(phrases, facts, chosen["normal"].rule),
        _shipped(chosen),
        _table(tables),
        _stock(stock, tables),
        _costs(costs, look_ms, gates),
        _adapted(adapted),
        _data(facts),
        _limits(),
    ]
    text = "\n\n".join(part for part in parts if part) + "\n"
    head.with_suffix(".card.md").write_text(text, encoding="utf-8")
    return _shipped(chosen)


def _about(phrases: Phrases, facts: Facts, normal: Rule) -> str:
    positive, near, other = facts.windows
    return (
        f"The head wakes on “{phrases.phrase}” and on nothing else: neither the name alone nor "
        "another greeting before it wakes. "
        f"Input: the last {CONTEXT} embeddings (a step of 80 ms apart, "
        f"each seeing 0.78 s) of openWakeWord's feature models, of which the last {USED} "
        f"count; output: a score from 0 to 1.\n\nRun: {facts.plan}, seed {facts.seed}, "
        f"{facts.minutes:.0f} process minutes in all (kept pieces of earlier runs counted as they "
        f"took then), {facts.jobs} processes ({platform.machine()}), "
        f"{datetime.now(UTC):%Y-%m-%d}. Windows: {positive:,} with the phrase, {near:,} of near "
        f"phrases, {other:,} of other sound." + _second_stage(facts.looks, normal)
    )


def _second_stage(looks: tuple[int, int, int] | None, normal: Rule) -> str:
    if looks is None:
        return ""
    positive, near, other = looks
    head = ", and the head's own score" if normal.weight else ""
    return (
        "\n\nThe second stage looks at doubtful wake-ups: small networks on what the encoder of "
        f"Whisper tiny.en makes of the last {SOUND / SAMPLE_RATE:.0f} s and the likelihood of the "
        f"phrase under that model{head}, summed. Windows: {positive:,} with "
        f"the phrase, {near:,} of near phrases, {other:,} of other sound at moments that a head "
        "doubted. With another recogniser the head decides alone."
    )


def _percent(counts: tuple[int, int]) -> str:
    return f"{share(counts) * 100:.1f} ({counts[0]}/{counts[1]})" if counts[1] else "–"


def _alarm(found: Figures, group: str) -> str:
    if group not in found.alarms:
        return "–"
    count, hours = found.alarms[group]
    return f"{count} in {hours:.2f} h = {found.rate(group):.2f}/h (< {found.bound(group):.1f})"


def _shipped(chosen: "Mapping[str, Chosen]") -> str:
    """What each sensitivity means, on the half that was not chosen on."""
    lines = [
        "## Sensitivities",
        "",
        "| | " + " | ".join(_columns(chosen)) + " |",
        "|---" * (1 + len(_columns(chosen))) + "|",
    ]
    found = [f for c in chosen.values() for f in _pair(c)]
    rules = [r for c in chosen.values() for r in ((c.rule, c.alone) if _both(c) else (c.alone,))]
    lines.append("| wakes from a score of | " + " | ".join(f"{r.wakes:g}" for r in rules) + " |")
    lines.append(
        "| certain from | "
        + " | ".join(f"{r.certain:g}" if r.two_stages else "–" for r in rules)
        + " |"
    )
    for condition in CONDITIONS:
        cells = [_percent(f.recall.get(condition.name, (0, 0))) for f in found]
        lines.append(f"| heard, {condition.name}, % | " + " | ".join(cells) + " |")
    for group in ("seen", "unseen"):
        for name in ("clean", "far 10 dB"):
            cells = [_percent(f.near.get((group, name), (0, 0))) for f in found]
            lines.append(f"| near phrases {group}, {name}, % | " + " | ".join(cells) + " |")
    for group in GROUPS:
        cells = [_alarm(f, group) for f in found]
        lines.append(f"| false accepts, {group} | " + " | ".join(cells) + " |")
    cells = [f"{f.looks_an_hour('real'):.0f}" if f.looks.get("real") else "–" for f in found]
    lines.append("| second looks an hour of real speech | " + " | ".join(cells) + " |")
    cells = [f"{f.delay_median_ms:.0f} / {f.delay_p95_ms:.0f}" for f in found]
    lines.append("| delay after the phrase's end, ms, median / 95th | " + " | ".join(cells) + " |")
    lines += [
        "",
        "Head and second stage, or the head alone with its own threshold. "
        "In brackets after a rate: the true rate is below it with 95 % confidence.",
        "",
        "Far: 2 to 4 m away in a furnished room with a measured RT60 of 0.3 to 0.6 s (image "
        "method, a talker without direction); noise at the named level below the speech as "
        "reverberant as it arrives: coloured noise, a hum, many people, and a real kitchen. "
        "Any room: boxes of any size and damping up to 0.95 s, anywhere in them. Over speech: "
        "one person talks all the while, as Echo does.",
    ]
    return "\n".join(lines)


def _both(one: "Chosen") -> bool:
    return one.rule.two_stages


def _columns(chosen: "Mapping[str, Chosen]") -> list[str]:
    names = []
    for name, one in chosen.items():
        names += [f"{name}", f"{name}, head alone"] if _both(one) else [f"{name}, head alone"]
    return names


def _pair(one: "Chosen") -> list[Figures]:
    return [one.figures, one.figures_alone] if _both(one) else [one.figures_alone]


def _table(tables: Mapping[float, Figures]) -> str:
    conditions = [c.name for c in CONDITIONS]
    head = ["threshold", *conditions, "near seen", "near unseen", *GROUPS]
    lines = [
        "## The head alone, at each threshold",
        "",
        "Shares; false accepts as events an hour. One step over the threshold wakes.",
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for threshold, found in tables.items():
        cells = [f"{threshold:g}"]
        cells += [f"{found.recalled(c):.3f}" for c in conditions]
        cells += [f"{share(found.near.get((g, 'clean'), (0, 0))):.3f}" for g in ("seen", "unseen")]
        cells += [f"{found.rate(g):.2f}" if g in found.alarms else "–" for g in GROUPS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _stock(stock: Figures | None, tables: Mapping[float, Figures]) -> str:
    if stock is None:
        return ""
    return (
        "## Beside openWakeWord's stock head\n\nopenWakeWord's “alexa” head (0.4.0) at 0.5 on the "
        f"same recordings without its phrase: {_alarm(stock, 'real')} on real speech; this head "
        f"at 0.5, alone: {_alarm(tables[0.5], 'real')}. Its recall cannot be compared here, as "
        "nobody says its phrase in this material."
    )


def _costs(
    costs: Mapping[str, float],
    look_ms: float | None,
    gates: Mapping[str, tuple[int, int, int]],
) -> str:
    lines = ["## Cost", "", "CPU time a step of 80 ms, one thread, on the machine of the run:", ""]
    lines += [
        f"- {name}: {ms:.2f} ms ({ms / 80 * 100:.1f} % of a core)" for name, ms in costs.items()
    ]
    if look_ms:
        lines += ["", f"A second look: {look_ms:.0f} ms, on the recogniser's thread."]
    lines += [
        "",
        "The gate leaves out embeddings and head while no band rises above the room's steady "
        "noise, and makes them up for when one does. What it costs in recall, at the normal "
        "threshold of the head alone:",
        "",
        "| | phrases | heard without the gate | heard with it |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {n} | {a} | {b} |" for name, (n, a, b) in gates.items()]
    return "\n".join(lines)


def _adapted(found: Adaptation | None) -> str:
    if found is None:
        return ""
    lines = [
        "## The owner's adaptation",
        "",
        f"`hey-echo wake record` with {found.owners} held-out voices as owners: ten examples "
        "(clean, quiet and loud) each, judged on other clips at the normal threshold of the head "
        "alone.",
        "",
        "| | before | after |",
        "|---|---|---|",
    ]
    for name, counts in found.heard.items():
        cells = [_percent((n, counts.all_)) for n in (counts.before, counts.after)]
        lines.append(f"| heard, {name}, % | {cells[0]} | {cells[1]} |")
    cells = [_percent((n, found.near.all_)) for n in (found.near.before, found.near.after)]
    lines.append(f"| their near phrases, clean, % | {cells[0]} | {cells[1]} |")
    before, after, hours = found.alarms
    lines.append(
        f"| false accepts, real speech | {before / hours:.2f}/h | {after / hours:.2f}/h "
        f"({after} in {hours:.1f} h) |"
    )
    return "\n".join(lines)


def _data(facts: Facts) -> str:
    clips = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in facts.clips.items())
    held = ", ".join([*voices.HELD_OUT_DEV, *voices.HELD_OUT_TEST])
    lines = [
        "## Data",
        "",
        f"- Synthetic clips: {clips}. Voices: Kokoro-82M (Apache-2.0) with its voices blended, "
        "and strangers made of them, espeak-ng (GPL-3.0, its output is free), flite awb and rms "
        "(BSD).",
        "- Rooms (image method), noises and music are made by rule.",
        *(f"- Real speech: {source}." for source in facts.sources),
        "- Never trained on, in any role: Kokoro "
        + held
        + "; "
        + ", ".join([*voices.OTHERS_DEV, *voices.OTHERS_TEST])
        + ".",
        "- The operating points were chosen on: "
        + ", ".join(facts.judged["dev"])
        + "; the figures above are of: "
        + ", ".join(facts.judged["test"])
        + ".",
        "- Licences: recordings of other wake words, Picovoice/wake-word-benchmark, Apache-2.0; "
        "telephone prompts, Debian asterisk-core-sounds, CC BY-SA 3.0 and CC BY 3.0; the two "
        "games' lines, Debian beneath-a-steel-sky and flight-of-the-amazon-queen, freeware that "
        "may be passed on. None of their sound is in the head.",
    ]
    return "\n".join(lines)


def _limits() -> str:
    return (
        "## Limits\n\nRecall is measured on synthetic voices alone, as no recordings of real "
        "people saying the phrase were to be had; children, strong accents and whispering are not "
        "covered. The feature models' licence is discussed in THIRD_PARTY.md."
    )
