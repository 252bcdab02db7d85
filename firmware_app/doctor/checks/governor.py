"""How the processor's clock is governed."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

POLICY = "/sys/devices/system/cpu/cpu0/cpufreq"


def run(context: Context) -> Finding:
    governor = context.read(f"{POLICY}/scaling_governor")
    limit, highest = (
        context.read(f"{POLICY}/{name}") for name in ("scaling_max_freq", "cpuinfo_max_freq")
    )
    if not governor:
        return passed("How the clock is governed cannot be read here.")
    if governor == "powersave" and context.read(f"{POLICY}/scaling_driver") != "intel_pstate":
        return warned(  # intel_pstate's powersave goes up under load; the others' does not
            "The governor powersave holds the processor at its lowest clock.",
            "echo ondemand | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        )
    if limit.isdigit() and highest.isdigit() and int(limit) < int(highest):
        return warned(
            f"The clock is limited to {int(limit) // 1000} of {int(highest) // 1000} MHz.",
            f"echo {highest} | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
        )
    return passed(f"The governor is {governor}.")


CHECK = Check("governor", Area.SYSTEM, "how the processor's clock is governed", run)
