"""Whether this user may use the sound devices."""

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.checks.permissions import READ, WRITE, may
from firmware_app.doctor.context import Context
from firmware_app.folders import GROUP


def run(context: Context) -> Finding:
    if context.refused and context.refused.code == "not-allowed":
        return failed(
            "You may not call the running Echo.",
            f"Join its group, then log in again: sudo usermod -aG {GROUP} $USER",
        )
    devices = sorted(context.path("/dev/snd").glob("pcm*"))
    closed = [d for d in devices if not may(d, context.uid, set(context.groups), READ | WRITE)]
    if closed and context.vitals is None:
        return failed(
            f"This user may not use the sound device {closed[0].name}.",
            "sudo usermod -aG audio $USER, then log in again",
        )
    if not devices:
        return passed("There is no sound device whose rights could be wrong.")
    return passed("The sound devices may be used.")


CHECK = Check("groups", Area.SOUND, "whether the sound devices may be used", run)
