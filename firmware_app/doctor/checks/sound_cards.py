"""The sound cards that the kernel has, and whether those that the settings name are among them."""

import re

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

PLUG_IN = "Plug the microphone and loudspeaker in (for a HAT: enable its overlay) and restart."
_CARD = re.compile(r"^\s*(\d+) \[(\S+)\s*\]", re.MULTILINE)
_NAMED = re.compile(r"(?:hw|plughw|sysdefault|front|dmix|dsnoop):(?:CARD=)?([^,\s]+)")


def run(context: Context) -> Finding:
    cards = dict(_CARD.findall(context.read("/proc/asound/cards")))
    audio = context.audio
    for setting, name in (
        ("audio.microphone", audio.microphone),
        ("audio.loudspeaker", audio.loudspeaker),
    ):
        named = _NAMED.search(name)
        if named and named[1] not in {*cards, *cards.values()}:
            there = ", ".join(cards.values()) or "none"
            return failed(
                f"{setting} names the card {named[1]}, which is not there (there: {there}).",
                "Plug it in, or choose one that `arecord -L` and `aplay -L` show.",
            )
    if not cards:
        return warned("The kernel has no sound card.", PLUG_IN)
    busy = "".join(f"; {who}" for who in users(context))
    return passed(f"Sound cards: {', '.join(cards.values())}{busy}.")


def users(context: Context) -> list[str]:
    """Who holds a device of a card."""
    found = []
    cards = context.path("/proc/asound")
    for status in sorted(cards.glob("card*/pcm*/sub*/status")):
        text = context.read(f"/proc/asound/{status.relative_to(cards)}")
        if owner := re.search(r"owner_pid\s*:\s*(\d+)", text):
            card, device, *_ = status.relative_to(cards).parts
            use = "microphone" if device.endswith("c") else "loudspeaker"
            name = context.read(f"/proc/{owner[1]}/comm") or "unknown"
            found.append(f"the {use} of {card} is used by process {owner[1]} ({name})")
    return found


CHECK = Check("sound-cards", Area.SOUND, "the sound cards", run)
