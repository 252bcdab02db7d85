"""hey-echo models recommend: what this box can do, measured, and what follows from it."""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firmware_app.cli.output import as_json, say, table
from firmware_app.cli.service import ask_service, settings
from firmware_app.errors import EchoError

if TYPE_CHECKING:
    from firmware_app.engines.speed import Speed
    from firmware_app.model_store.advice import Box, Estimate
    from firmware_app.models import Model
    from firmware_app.settings import Settings


@dataclass(frozen=True, slots=True)
class _Findings:
    """beside: MB of the models to be loaded besides; freed: MB that the one in use gives back."""

    box: "Box"
    base: "Model"
    speed: "Speed"
    beside: Mapping[str, int]
    freed: int
    room: float
    estimates: Sequence["Estimate"]
    best: "Estimate | None"


def run_recommend(arguments: argparse.Namespace) -> int:
    wanted = settings()
    found = _measure(wanted)
    if arguments.json:
        as_json(_as_row(found))
        return 0
    _show_measured(found)
    _show_estimates(found.estimates)
    _show_arithmetic(found, wanted.model.context_tokens)
    _conclude(found.best, found.base, wanted)
    return 0


def _measure(wanted: "Settings") -> _Findings:
    from firmware_app.engines.speed import measure
    from firmware_app.model_store import advice
    from firmware_app.models import catalogue, find

    language_models = [model for model in catalogue().values() if model.engine == "llama"]
    base = next(model for model in language_models if model.group == "packaged")
    box = advice.this_box()
    speed = asyncio.run(measure(find("llama", base.name, wanted), wanted.model, say))
    measured = advice.Measured(base, speed.prompt, speed.generated, speed.memory)
    beside, freed = _other_memory(wanted)
    room = advice.room(box, sum(beside.values()), freed)
    context = wanted.model.context_tokens
    estimates = [advice.estimate(model, measured, context, room) for model in language_models]
    best = advice.best(estimates, wanted.language)
    return _Findings(box, base, speed, beside, freed, room, estimates, best)


def _as_row(found: _Findings) -> dict[str, Any]:
    return {
        "memory_mb": round(found.box.memory),
        "available_mb": round(found.box.available),
        "cores": found.box.cores,
        "load": found.box.load,
        "measured": {
            "model": found.base.name,
            "prompt_tokens_per_second": round(found.speed.prompt, 1),
            "generated_tokens_per_second": round(found.speed.generated, 1),
            "memory_mb": round(found.speed.memory),
        },
        "room_mb": round(found.room),
        "computed": [_estimate_row(each) for each in found.estimates],
        "recommended": found.best.model.name if found.best else None,
    }


def _show_measured(found: _Findings) -> None:
    from firmware_app.model_store import advice

    box, speed = found.box, found.speed
    busy = ": other work goes on, so what is measured is too low" if box.busy else ""
    print(f"memory    {box.memory:.0f} MB, of which {box.available:.0f} MB are free")
    print(f"cores     {box.cores}, load {box.load:.1f}{busy}")
    print(
        f"measured  {found.base.name}: {speed.prompt:.0f} tokens/s read ({speed.prompt_runs} "
        f"runs), {speed.generated:.1f} tokens/s written ({speed.generated_runs} runs), "
        f"{speed.memory:.0f} MB"
    )
    parts = [f"{box.available:.0f} free"]
    parts += [f"+ {found.freed} of the model in use"] if found.freed else []
    parts += [f"- {mb} {name}" for name, mb in found.beside.items()]
    print(f"room      {' '.join(parts)} - {advice.OTHERS} for the rest = {found.room:.0f} MB\n")


def _show_arithmetic(found: _Findings, context: int) -> None:
    from firmware_app.model_store import advice

    base, speed = found.base, found.speed
    print(
        "\nAll figures of this table are computed from the measured model, not measured:\n"
        f"  memory  file + {context} tokens of context x cache bytes a token + what the measured "
        f"model takes beyond its own ({speed.memory:.0f} - {base.bytes / 1e6:.0f} - "
        f"{base.kv_bytes * context / 1e6:.0f} MB)\n"
        f"  read    {speed.prompt:.0f} x {base.parameters / 1e6:.0f} million parameters / the "
        "model's\n"
        f"  write   {speed.generated:.1f} x {base.bytes / 1e6:.0f} MB / the model's file\n"
        f"  first   {advice.QUESTION} tokens read + {advice.CLAUSE} written; "
        f"answer: {advice.QUESTION} read + {advice.ANSWER} written\n"
        f"  quick   at least {advice.PACE:g} tokens/s written, and the first words within "
        f"{advice.FIRST_SOUND:g} s"
    )


def _other_memory(wanted: "Settings") -> tuple[dict[str, int], int]:
    """MB of the models to be loaded besides, and MB that the one in use would give back."""
    from firmware_app.model_store.choice import in_use
    from firmware_app.models import catalogue

    used = {
        setting: catalogue()[name]
        for setting, name in in_use(wanted).items()
        if name in catalogue()
    }
    thinking = used.pop("model.model", None)
    try:
        running = ask_service("status") is not None
    except EchoError:
        running = True  # it is there, and does not answer just now
    if running:
        return {}, thinking.memory if thinking else 0
    return {model.name: model.memory for model in used.values()}, 0


def _show_estimates(estimates: Sequence["Estimate"]) -> None:
    table(
        ("model", "memory", "read", "write", "first words", "answer", ""),
        [
            (
                each.model.name,
                f"{each.memory:.0f} MB",
                f"{each.prompt:.0f} tokens/s",
                f"{each.generated:.1f} tokens/s",
                f"{each.first_sound:.1f} s",
                f"{each.answer:.0f} s",
                _verdict(each),
            )
            for each in estimates
        ],
        right=frozenset(range(1, 6)),
    )


def _verdict(each: "Estimate") -> str:
    if not each.fits:
        return "does not fit"
    return "fits, quick" if each.quick else "fits, slow"


def _estimate_row(each: "Estimate") -> dict[str, Any]:
    return {
        "model": each.model.name,
        "memory_mb": round(each.memory),
        "prompt_tokens_per_second": round(each.prompt, 1),
        "generated_tokens_per_second": round(each.generated, 1),
        "first_sound_seconds": round(each.first_sound, 1),
        "answer_seconds": round(each.answer, 1),
        "fits": each.fits,
        "quick": each.quick,
    }


def _conclude(best: "Estimate | None", base: "Model", wanted: "Settings") -> None:
    if best is None:
        print("\nNo model of the catalogue fits and is quick here; the packaged one is the best.")
    elif best.model.name == base.name:
        print(f"\n{base.name}, the packaged one, is what this box can do.")
    else:
        print(f"\nRecommended: {best.model.name} ({best.model.good_at}).")
        print(f"  hey-echo models install {best.model.name}")
        print(f"  hey-echo models use {best.model.name}")
    print(
        f"For the language {wanted.language} there may be better recognisers and voices too: "
        "hey-echo models list"
    )
