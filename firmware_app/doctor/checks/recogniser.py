"""Whether the recogniser hears what the voice says."""

import asyncio

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.trial import Heard, hear
from firmware_app.engines.loading import load_recogniser
from firmware_app.errors import ServiceError

ALIKE = 0.6  # of the letters: voice and recogniser may each err a little
MEND = "hey-echo config unset recogniser.model; if it stays so, run ./scripts/setup"


def run(context: Context) -> Finding:
    if context.vitals and context.vitals["awake"]:
        try:
            told = context.ask("doctor.trial")
        except ServiceError as error:
            return warned(f"Not tried: {error.what}", error.mend)
        return judge(told["recogniser"], Heard(**told["heard"]))
    sound = context.trial.sound()
    recogniser = load_recogniser(context.settings)
    try:
        return judge(
            recogniser.name, asyncio.run(hear(recogniser, sound, context.settings.language))
        )
    finally:
        recogniser.close()


def judge(name: str, heard: Heard) -> Finding:
    if not heard.words:
        return failed(f"The recogniser ({name}) hears nothing of what the voice says.", MEND)
    if heard.likeness < ALIKE:
        return failed(
            f"The recogniser ({name}) hears other words than the voice says "
            f"({heard.likeness:.0%} of the letters).",
            "See that voice, recogniser and `language` are of one language. " + MEND,
        )
    return passed(
        f"{name} hears {heard.likeness:.0%} of the letters of a spoken sentence "
        f"in {heard.seconds:.1f} s."
    )


CHECK = Check("recogniser", Area.ENGINES, "whether speech is recognised", run, 90, heavy=True)
