"""Under-voltage and throttling, where the board tells."""

import re

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

# Bits of get_throttled: Raspberry Pi documentation, "vcgencmd".
NOW = {
    0: "the voltage is too low",
    1: "the clock is capped",
    2: "the processor is throttled",
    3: "it is too warm",
}
SINCE_BOOT = {
    16: "the voltage was too low",
    17: "the clock was capped",
    18: "the processor was throttled",
    19: "it was too warm",
}
SUPPLY = "Use the board's own power supply and a short cable, and unplug what draws power."
COOL = "Give the board a heat sink or a fan, and room around it."


def run(context: Context) -> Finding:
    bits = _bits(context)
    if bits is None:
        return _alarm(context)
    now = [text for bit, text in NOW.items() if bits >> bit & 1]
    before = [text for bit, text in SINCE_BOOT.items() if bits >> bit & 1]
    mend = SUPPLY if bits & 0x10001 else COOL
    if now:
        return failed(f"At this moment {', '.join(now)}.", mend)
    if before:
        return warned(f"Since the start {', '.join(before)}.", mend)
    return passed("Enough voltage, and no throttling since the start.")


def _bits(context: Context) -> int | None:
    told = context.command("vcgencmd", "get_throttled") or ""
    if found := re.search(r"throttled=0x([0-9a-fA-F]+)", told):
        return int(found[1], 16)
    text = context.read("/sys/devices/platform/soc/soc:firmware/get_throttled")
    return int(text, 16) if re.fullmatch(r"[0-9a-fA-F]+", text) else None


def _alarm(context: Context) -> Finding:
    """The kernel's own sensor: Linux, Documentation/hwmon/raspberrypi-hwmon."""
    for sensor in sorted(context.path("/sys/class/hwmon").glob("hwmon*")):
        folder = f"/sys/class/hwmon/{sensor.name}"
        if context.read(f"{folder}/name") == "rpi_volt":
            if context.read(f"{folder}/in0_lcrit_alarm") == "1":
                return failed("The voltage is too low.", SUPPLY)
            return passed("Enough voltage.")
    return passed("This board does not tell of its voltage.")


CHECK = Check("power", Area.SYSTEM, "under-voltage and throttling", run)
