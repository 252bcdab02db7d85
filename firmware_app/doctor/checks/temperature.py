"""How warm the board is."""

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

# A Raspberry Pi slows down from 80 °C and more so from 85 °C (Raspberry Pi documentation,
# "Frequency management and thermal control").
WARM, HOT = 80, 85  # °C
MEND = "Give the board a heat sink or a fan, and room around it."


def run(context: Context) -> Finding:
    found = []
    for zone in sorted(context.path("/sys/class/thermal").glob("thermal_zone*")):
        text = context.read(f"/sys/class/thermal/{zone.name}/temp")
        if text.lstrip("-").isdigit():
            found.append(int(text) / 1000)
    if not found:
        return passed("No temperature can be read here.")
    highest = max(found)
    if highest >= HOT:
        return failed(f"{highest:.0f} °C: the processor slows itself down.", MEND)
    if highest >= WARM:
        return warned(f"{highest:.0f} °C: the processor begins to slow itself down.", MEND)
    return passed(f"{highest:.0f} °C.")


CHECK = Check("temperature", Area.SYSTEM, "how warm the board is", run)
