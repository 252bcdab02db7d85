"""The clock: a Raspberry Pi has none of its own, and asks the network."""

import datetime
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

DAY = 86_400  # seconds
SET = (
    "Connect the box to the network, then run: sudo apt install systemd-timesyncd; "
    "sudo timedatectl set-ntp true"
)


def run(context: Context) -> Finding:
    now = context.now()
    shown = datetime.datetime.fromtimestamp(now).astimezone().strftime("%Y-%m-%d %H:%M")
    if now < Path(__file__).stat().st_mtime - DAY:  # before Echo was installed
        return failed(f"The clock says {shown}, which is in the past.", SET)
    if context.path("/run/systemd/timesync/synchronized").exists():
        return passed(f"{shown}, set by the network.")
    synchronised = context.command("timedatectl", "show", "--property=NTPSynchronized", "--value")
    if synchronised == "no":
        return warned(f"{shown}, and nothing sets the clock: it will drift.", SET)
    if synchronised == "yes":
        return passed(f"{shown}, set by the network.")
    return passed(f"{shown}; whether the network sets the clock cannot be read here.")


CHECK = Check("clock", Area.SYSTEM, "the clock", run)
