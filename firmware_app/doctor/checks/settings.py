"""The settings: what is wrong with them, and who set what."""

from collections import Counter

from firmware_app.doctor import Area, Check, Finding, failed_by, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.settings_layers import Layer

SHOWN = 6


def run(context: Context) -> Finding:
    if context.fault:
        finding = failed_by(context.fault)
        return type(finding)(
            finding.status,
            f"{finding.line} The other checks took the defaults.",
            finding.mend,
        )
    if context.loaded.problems:
        problem = context.loaded.problems[0]
        return warned(f"{problem.what} [{problem.code}]", problem.mend)
    by_layer: dict[Layer, list[str]] = {}
    for name, origin in context.loaded.origin.items():
        by_layer.setdefault(origin.layer, []).append(name)
    changed = [f"{layer}: {_names(by_layer[layer])}" for layer in Layer if _set(layer, by_layer)]
    counts = Counter({layer: len(names) for layer, names in by_layer.items()})
    if not changed:
        return passed(f"All {counts.total()} are the defaults.")
    return passed(f"Set by {'; '.join(changed)}. {counts[Layer.DEFAULT]} are the defaults.")


def _set(layer: Layer, by_layer: dict[Layer, list[str]]) -> bool:
    return layer is not Layer.DEFAULT and layer in by_layer


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(sorted(names)[:SHOWN]) + more


CHECK = Check("settings", Area.SETTINGS, "the settings, and who set them", run)
