"""Swap: on a card it is slow, and wears the card out."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

MB = 1024  # kB
USED = 50 * MB  # a little is what the kernel puts aside at the start and never needs again


def run(context: Context) -> Finding:
    on_disk = used = 0
    for line in context.read("/proc/swaps").splitlines()[1:]:
        name, _, size, taken, *_ = line.split()
        if not name.startswith("/dev/zram"):
            on_disk += int(size)
            used += int(taken)
    if used > USED:
        return warned(
            f"{used // MB} MB of memory were moved to the disk, where they are slow to reach.",
            "End other programs or choose smaller models; swap in memory instead: "
            "sudo apt install systemd-zram-generator",
        )
    if on_disk:
        return passed(f"Swap of {on_disk // MB} MB on the disk, hardly used.")
    return passed("No swap on the disk.")


CHECK = Check("swap", Area.SYSTEM, "swap on the disk", run)
