"""What the processor can do."""

import os

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

# Without these the engines run, though several times slower: their fast paths are chosen at run
# time (ONNX Runtime, CTranslate2) or when llama.cpp is built.
FAST = {"x86": ("avx2", "fma"), "arm": ("asimd", "asimddp")}


def flags(context: Context) -> set[str]:
    """As /proc/cpuinfo names them; empty where it tells none."""
    for line in context.read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return set(value.split())
    return set()


def run(context: Context) -> Finding:
    return judge(flags(context), os.cpu_count() or 1)


def judge(found: set[str], cores: int) -> Finding:
    wanted = FAST["arm" if "asimd" in found else "x86"]
    missing = [flag for flag in wanted if flag not in found]
    what = f"{cores} {'core' if cores == 1 else 'cores'}"
    if not found:
        return passed(f"{what}; what they can do is not told here.")
    if missing:
        return warned(
            f"{what} without {' and '.join(missing)}: the engines are slow on it.",
            "Choose small models, or a board with a newer processor (a Raspberry Pi 5 has it all).",
        )
    if cores < 2:
        return warned(
            f"{what}: listening and thinking share it.",
            "Let another machine think (model.backend = openai), or use a board with more cores.",
        )
    return passed(f"{what} with {' and '.join(wanted)}.")


CHECK = Check("processor", Area.SYSTEM, "what the processor can do", run)
