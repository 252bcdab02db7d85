"""Whether the loudspeaker takes sound: it plays a soft tone."""

import asyncio
from typing import Any

import numpy as np

from firmware_app.audio.alsa import open_loudspeaker
from firmware_app.audio.dsp import fade_in, fade_out, gain, milliseconds
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.checks.sound_cards import users
from firmware_app.doctor.context import Context
from firmware_app.errors import DeviceError
from firmware_app.frames import SAMPLE_RATE, Samples

HERTZ = 660.0
MILLISECONDS = 400
AMPLITUDE = (
    0.2  # of full scale, before the volume: soft, and clear of what small speakers rattle at
)
OFTEN = 10  # underruns from which it matters
DRAIN_SECONDS = 5.0


def run(context: Context) -> Finding:
    if context.settings.voice.volume == 0:
        return warned(
            "voice.volume is 0: nothing that Echo says is heard.",
            "hey-echo config set voice.volume 80",
        )
    if context.vitals:
        return _of_service(context.vitals)
    if context.refused:
        return warned(
            "Not tried: it is the running Echo's, which does not answer.", "See the check service."
        )
    audio = context.audio
    try:
        device = open_loudspeaker(audio.loudspeaker, audio.loudspeaker_rate)
    except DeviceError as error:
        holders = [who for who in users(context) if "loudspeaker" in who]
        who = f" Now {holders[0]}." if error.code == "device-busy" and holders else ""
        return failed(f"{error.what}{who} [{error.code}]", error.mend)
    rate, channels = device.rate, device.channels
    device.close()
    sound = tone(gain(context.settings.voice.volume))
    if not asyncio.run(_play(audio.loudspeaker, audio.loudspeaker_rate, sound)):
        return failed(
            "It takes no sound.", "Check its cable and power, and audio.loudspeaker; `aplay -L`."
        )
    asked = "" if rate == audio.loudspeaker_rate else f", asked were {audio.loudspeaker_rate}"
    return passed(
        f"It took a soft tone ({rate} Hz{asked}, {channels} ch). If you did not hear it, look at "
        "its cable and at `alsamixer`."
    )


def tone(volume: float) -> Samples:
    """0.4 s, faded in and out."""
    time = np.arange(milliseconds(MILLISECONDS)) / SAMPLE_RATE
    wave = np.sin(2 * np.pi * HERTZ * time) * AMPLITUDE * volume * 32767
    edge = milliseconds(50)
    return fade_out(fade_in(np.rint(wave).astype(np.int16), edge), edge)


async def _play(name: str, rate: int, sound: Samples) -> bool:
    """Whether all of it was taken, and no fault told."""
    faults: list[DeviceError | None] = []
    sink = AlsaSink(name, rate=rate, on_state=lambda s: None if s.ready else faults.append(s.error))
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            await sink.write(sound)
            await sink.drain()
    except TimeoutError:
        return False
    finally:
        await sink.close()
    return not faults and sink.heard >= len(sound)


def _of_service(vitals: dict[str, Any]) -> Finding:
    state = vitals["devices"].get("loudspeaker")
    if state is None:
        return passed("The service has not opened it yet.")
    if not state["ready"]:
        error = state["error"]
        return failed(f"{error['what']} [{error['code']}]", error["mend"])
    if vitals["underruns"] >= OFTEN:
        return warned(
            f"Sound came too late {vitals['underruns']} times: words are cut or stutter.",
            "End other programs, and look at power and temperature.",
        )
    return passed(f"{state['text']} Sound came too late {vitals['underruns']} times.")


CHECK = Check("loudspeaker", Area.SOUND, "the loudspeaker", run, seconds=15, heavy=True)
