"""What llama.cpp was built for, against what this processor can do."""

import re
import subprocess
import sys

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.checks.processor import flags
from firmware_app.doctor.context import Context

# llama_print_system_info()'s names, and /proc/cpuinfo's for what such a build executes.
NEEDS = {
    "SSE3": "pni",
    "SSSE3": "ssse3",
    "AVX": "avx",
    "AVX2": "avx2",
    "F16C": "f16c",
    "FMA": "fma",
    "BMI2": "bmi2",
    "AVX_VNNI": "avx_vnni",
    "AVX512": "avx512f",
    "AVX512_VBMI": "avx512vbmi",
    "AVX512_VNNI": "avx512_vnni",
    "AVX512_BF16": "avx512_bf16",
    "AMX_INT8": "amx_int8",
    "NEON": "asimd",
    "ARM_FMA": "asimd",
    "FP16_VA": "asimdhp",
    "DOTPROD": "asimddp",
    "MATMUL_INT8": "i8mm",
    "SVE": "sve",
    "SME": "sme",
}
REBUILD = "Run ./scripts/setup --rebuild-model, which builds it for this processor."
CHILD = (sys.executable, "-m", "firmware_app.engines.llama_child", "features")


def run(context: Context) -> Finding:
    if context.settings.model.backend != "llama":
        return passed("Not used: model.backend names a server.")
    return judge(*features(CHILD), flags(context))


def features(command: tuple[str, ...]) -> tuple[str, int]:
    """What the library prints about itself, and the exit status of the process that asked it."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=25, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return "", 1
    return done.stdout, done.returncode


def judge(info: str, status: int, processor: set[str]) -> Finding:
    if status < 0:
        return failed(f"The language model's engine dies when it is loaded ({-status}).", REBUILD)
    if status or " = " not in info:
        return failed("The package llama-cpp-python cannot be loaded.", "Run ./scripts/setup.")
    built = {name for name, on in re.findall(r"(\w+) = (\d)", info) if on == "1"}
    lacking = sorted(n for n in built & NEEDS.keys() if NEEDS[n] not in processor)
    if lacking and processor:
        return failed(
            f"The language model's engine was built for {', '.join(lacking)}, which this "
            "processor has not: it will die.",
            REBUILD,
        )
    if "AMX_INT8" in built and "hypervisor" in processor:
        return warned(
            "The language model's engine was built with AMX, which is seen to crash in virtual "
            "machines.",
            REBUILD,
        )
    used = sorted(built & NEEDS.keys())
    return passed(f"The language model's engine uses {', '.join(used) or 'plain code'}.")


CHECK = Check("build", Area.SYSTEM, "what llama.cpp was built for", run, seconds=30, heavy=True)
