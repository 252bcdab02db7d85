"""The calls by which doctor asks the running service: what it cannot look at from outside.

doctor: what the service knows of itself. doctor.hearing: the level of the microphone in the last
two seconds. doctor.trial and doctor.model: engines tried on one short sentence. No call tells what
was said in the room.
"""

from collections.abc import Callable
from dataclasses import asdict

from firmware_app.audio.level import LevelMeter
from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.doctor import trial
from firmware_app.engines import Engines
from firmware_app.errors import ServiceError


def register(
    server: ControlServer,
    vitals: Callable[[], dict[str, Json]],
    meter: LevelMeter,
    idle_engines: Callable[[], tuple[Engines, str]],
) -> None:
    """idle_engines: the engines and the language; raises ServiceError while they are in use."""

    async def doctor(call: Call) -> Json:
        return vitals()

    async def hearing(call: Call) -> Json:
        level = meter.level
        return asdict(level) if level else None

    async def try_engines(call: Call) -> Json:
        engines, language = idle_engines()
        sound = await trial.speak(engines.voice, language)
        heard = await trial.hear(engines.recogniser, sound, language)
        return {
            "voice": engines.voice.name,
            "spoken_samples": len(sound),
            "recogniser": engines.recogniser.name,
            "heard": asdict(heard),
        }

    async def try_model(call: Call) -> Json:
        """It is asked to count tokens alone: an answer would push the conversation out of it."""
        engines, _ = idle_engines()
        await engines.model.ready()
        counts = await engines.model.count(["Hello."])
        return {"model": engines.model.name, "tokens": sum(counts)}

    server.handle("doctor", doctor)
    server.handle("doctor.hearing", hearing)
    server.handle("doctor.trial", try_engines)
    server.handle("doctor.model", try_model)


def busy() -> ServiceError:
    return ServiceError(
        "busy-talking", "Echo is in the middle of an answer.", "Try again when it is quiet."
    )
