"""The time zone, without which every spoken time is hours off."""

import datetime

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

MEND = "Choose yours from `timedatectl list-timezones`: sudo timedatectl set-timezone Europe/Berlin"
UNSET = {"UTC", "Etc/UTC", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu"}


def run(context: Context) -> Finding:
    local = context.path("/etc/localtime")
    name = context.environ.get("TZ", "").lstrip(":")
    if not name and local.is_symlink():
        name = str(local.readlink()).rpartition("zoneinfo/")[2]
    name = name or context.read("/etc/timezone")
    if local.is_symlink() and not local.exists():
        return failed(f"The time zone {name} is not installed: times are in UTC.", MEND)
    if not name or name in UNSET:
        return warned("The time zone is UTC, as on a box where nobody has chosen one.", MEND)
    offset = datetime.datetime.fromtimestamp(context.now()).astimezone().strftime("%z")
    return passed(f"{name} (now UTC{offset[:3]}:{offset[3:]}).")


CHECK = Check("time-zone", Area.SYSTEM, "the time zone", run)
