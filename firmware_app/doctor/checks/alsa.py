"""The version of the ALSA library."""

from firmware_app.audio.alsa import library_version
from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

# Versions with a fault that was mended in the next one.
FAULTS = {
    "1.2.5": "programs fail to record or play through dmix",  # alsa-project/alsa-lib issue 155
    "1.2.6": "cards with use case profiles stay silent",  # alsa-project/alsa-lib issue 199
    "1.2.15": "there may be no sound at all",  # skipped for it by glfs-book/glfs, issue 350
}


def run(context: Context) -> Finding:
    return judge(library_version())


def judge(version: str) -> Finding:
    if not version:
        return passed("The version of the ALSA library cannot be read.")
    if fault := FAULTS.get(version.removesuffix(".0")):
        return warned(
            f"In version {version} of the ALSA library {fault}.",
            "Update the system: sudo apt update && sudo apt upgrade",
        )
    return passed(f"ALSA library {version}, without a known fault.")


CHECK = Check("alsa", Area.SOUND, "the version of the ALSA library", run)
