"""What the microphone truly delivers, over two seconds."""

import time
from collections.abc import Mapping
from typing import Any

from firmware_app.audio.alsa import XRUN, Device, decode, open_microphone
from firmware_app.audio.dsp import to_int16
from firmware_app.audio.level import FLOOR_DB, WINDOW_SECONDS, Level, LevelMeter
from firmware_app.doctor import Area, Check, Finding, Status, failed, passed, warned
from firmware_app.doctor.checks.sound_cards import users
from firmware_app.doctor.context import Context
from firmware_app.errors import DeviceError
from firmware_app.frames import SAMPLE_RATE
from firmware_app.settings import AudioSettings

STUCK = 3 / 32768  # swing of a converter that is dead but for its last bits
QUIET_DB = -70.0  # of 96 that 16 bits span: a room's own noise should be above it
OFFSET = 0.05  # of full scale: it takes away headroom, and the level seems louder than it is
CLIPPED = 0.001  # share of the samples from which speech sounds torn
PACE = 0.1  # by which the rate may differ from what the device claims; two seconds tell no better
RATES = (8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000)  # that devices have
STALLED = 1.0  # seconds without a sample
SETTLE = 0.3  # seconds at the beginning that many devices fill with silence or a click
LOST = 5  # overruns, or late frames, from which it matters


def run(context: Context) -> Finding:
    if context.vitals:
        return _through_service(context, context.vitals)
    if context.refused:
        return warned(
            "Not tried: it is the running Echo's, which does not answer.", "See the check service."
        )
    audio = context.audio
    try:
        device = open_microphone(audio.microphone, audio.microphone_rate, audio.microphone_channels)
    except DeviceError as error:
        return unopened(context, error)
    try:
        if audio.microphone_channel >= device.channels:
            return failed(
                f"It has {device.channels} channels, counted from 0, and channel "
                f"{audio.microphone_channel} was asked. [device-channel]",
                "hey-echo config set audio.microphone_channel 0",
            )
        return _measured(context, device)
    finally:
        device.close()


def _measured(context: Context, device: Device) -> Finding:
    audio = context.audio
    meters, frames, elapsed, lost = measure(device, context, audio.microphone_channel)
    if elapsed <= 0 or not frames:
        return failed(
            "It delivers no sound at all.", "Unplug it and plug it in again; try another socket."
        )
    pace = frames / elapsed / device.rate
    level = meters[audio.microphone_channel].level
    if abs(pace - 1) > PACE and not lost:
        true = pace * device.rate
        nearest = min(RATES, key=lambda rate: abs(rate - true))
        return failed(
            f"It claims {device.rate} Hz and delivers {true:.0f} a second.",
            f"hey-echo config set audio.microphone_rate {nearest}"
            if true < 2 * RATES[-1]
            else "That is no sound card: choose one of `arecord -L` with audio.microphone.",
        )
    assert level  # noqa: S101 - frames came
    others = {n: m.level for n, m in enumerate(meters) if n != audio.microphone_channel and m.level}
    finding = judge(level, others)
    return _with(finding, delivered(audio, device.rate, device.channels))


def _with(finding: Finding, more: str) -> Finding:
    return Finding(finding.status, f"{finding.line} {more}".strip(), finding.mend)


def measure(
    device: Device, context: Context, channel: int
) -> tuple[list[LevelMeter], int, float, int]:
    """Meters of all channels, frames in how many seconds, and overruns."""
    meters = [LevelMeter() for _ in range(device.channels)]
    began = last = time.monotonic()
    first = 0.0
    frames = lost = 0
    while (now := time.monotonic()) < began + SETTLE + WINDOW_SECONDS and now - last < STALLED:
        try:
            count, data = device.pcm.read()
        except Exception:
            break
        if count == XRUN:
            lost += 1
        if count <= 0:
            time.sleep(0.005)
            continue
        last = time.monotonic()
        if last < began + SETTLE:
            first = last
            continue
        frames += count
        for number, meter in enumerate(meters):
            meter.add(to_int16(decode(data, device, number)))
        if level := meters[channel].level:
            context.on_level(level.db)
    return meters, frames, last - (first or began), lost


def judge(level: Level, others: Mapping[int, Level]) -> Finding:
    """What the level says. others: of the channels that are not listened to, by number."""
    meter = bar(level.db)
    if level.swing == 0 and level.peak == 0:
        alive = [number for number, other in others.items() if other.swing > STUCK]
        if alive:
            return failed(
                f"The channel that is listened to is silent, and channel {alive[0]} is not.",
                f"hey-echo config set audio.microphone_channel {alive[0]}",
            )
        return failed(
            "It delivers digital silence.",
            "Look for a mute switch on it, raise its level in `alsamixer` (F4), and check "
            "audio.microphone.",
        )
    if level.swing <= STUCK:
        return failed(
            f"It delivers the same value all the time ({level.offset:+.3f} of full scale).",
            "Unplug it and plug it in again; for a HAT, check its seat and its overlay.",
        )
    if level.clipped > CLIPPED:
        return warned(
            f"{meter}: {level.clipped:.1%} of the sound is clipped.",
            "Lower its level in `alsamixer` (F4), or move it away from what is loud.",
        )
    if abs(level.offset) > OFFSET:
        return warned(
            f"{meter}: it has a constant offset of {level.offset:+.3f} of full scale.",
            "Choose another channel or rate; for a HAT, check its overlay and its driver.",
        )
    if level.db < QUIET_DB:
        return warned(
            f"{meter}: that is hardly anything.",
            "Raise its level in `alsamixer` (F4), and speak while this runs.",
        )
    return passed(f"{meter}.")


def bar(db: float) -> str:
    """A level in words and as a meter of twenty steps, from -80 dB up."""
    steps = round(min(max((db + 80) / 4, 0), 20))
    shown = "silence" if db <= FLOOR_DB else f"{db:.0f} dB"
    return f"[{'#' * steps:.<20}] {shown}"


def delivered(audio: AudioSettings, rate: int, channels: int) -> str:
    """What it gives, and against what was asked."""
    gives = f"{rate} Hz, {channels} {'channel' if channels == 1 else 'channels'}"
    if (rate, channels) == (audio.microphone_rate, audio.microphone_channels):
        said = f"{gives}, as asked"
    else:
        said = f"{gives}, asked were {audio.microphone_rate} Hz, {audio.microphone_channels}"
    return f"{said}; Echo converts it." if rate != SAMPLE_RATE else f"{said}."


def unopened(context: Context, error: DeviceError) -> Finding:
    holders = [who for who in users(context) if "microphone" in who]
    who = f" Now {holders[0]}." if error.code == "device-busy" and holders else ""
    return failed(f"{error.what}{who} [{error.code}]", error.mend)


def _through_service(context: Context, vitals: dict[str, Any]) -> Finding:
    """The running service tells the level of what it hears anyway."""
    state = vitals["devices"].get("microphone")
    if state is None:
        return passed("The service has not opened it yet.")
    if state.get("closed"):
        return warned(state["text"], "hey-echo unmute, or hold its button for two seconds")
    if not state["ready"]:
        error = state["error"]
        return failed(f"{error['what']} [{error['code']}]", error["mend"])
    level = _listen_along(context)
    if level is None:
        return failed("The service hears nothing from it.", "Unplug it and plug it in again.")
    finding = judge(level, {})
    lost = vitals["overruns"] + vitals["dropped"]
    if finding.status is Status.PASS and lost >= LOST:
        finding = warned(
            f"{finding.line} Sound was lost {lost} times, because the box was too busy.",
            "End other programs, and look at power and temperature.",
        )
    if finding.status is Status.PASS and (gain := vitals.get("gain")):
        finding = warned(f"{finding.line} {gain}", "alsamixer, then F4")
    return _with(finding, delivered(context.audio, state["rate"], state["channels"]))


def _listen_along(context: Context) -> Level | None:
    level = None
    until = time.monotonic() + WINDOW_SECONDS
    while time.monotonic() < until:
        time.sleep(0.2)
        told = context.ask("doctor.hearing")
        level = Level(**told) if told else None
        if level:
            context.on_level(level.db)
    return level


CHECK = Check("microphone", Area.SOUND, "what the microphone delivers", run)
