"""The skill of the device itself: volume, light, pace of speech, and the microphone."""

from collections.abc import Awaitable, Callable, Sequence

from firmware_app.errors import SettingsError
from firmware_app.settings import Settings
from firmware_app.settings_checks import Value, find
from firmware_app.skills import Arguments, Call, SkillTool, ToolResult, parameters
from firmware_app.skills.language import Language

VOLUME, BRIGHTNESS, SPEED = "voice.volume", "lights.brightness", "voice.speed"
STEPS_OF_TEN = 10  # "volume 5" is meant on a scale of ten
LEAST_HEARD = 20  # the volume that "sound on" goes back to, where no other is known
_PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}
_STEP = {"type": "integer", "minimum": -100, "maximum": 100, "description": "percent"}


class DeviceSkill:
    """settings: those in force. change: changes one; None where none can be changed.

    mute: closes the microphone; None where nobody listens.
    """

    name = "device"
    tools: Sequence[SkillTool] = (
        SkillTool(
            "set_volume",
            "Sets the volume.",
            parameters({"percent": _PERCENT}, ["percent"]),
            changes=True,
            slight=True,
        ),
        SkillTool(
            "change_volume",
            "Makes the sound louder or quieter.",
            parameters({"step": _STEP}, ["step"]),
            changes=True,
            slight=True,
        ),
        SkillTool("get_volume", "Tells the volume.", parameters()),
        SkillTool(
            "unmute_sound",
            "Switches the sound on again.",
            parameters(),
            changes=True,
            slight=True,
        ),
        SkillTool(
            "mute_microphone",
            "Switches the microphone off; only the button or the page switches it on again.",
            parameters(),
            changes=True,
        ),
        SkillTool(
            "set_brightness",
            "Sets the brightness of Echo's light.",
            parameters({"percent": _PERCENT}, ["percent"]),
            changes=True,
            slight=True,
        ),
        SkillTool(
            "change_brightness",
            "Makes Echo's light brighter or dimmer.",
            parameters({"step": _STEP}, ["step"]),
            changes=True,
            slight=True,
        ),
        SkillTool(
            "change_speed",
            "Lets Echo speak faster or slower; without a step at its normal pace.",
            parameters({"step": {"type": "number", "minimum": -1, "maximum": 1}}),
            changes=True,
            slight=True,
        ),
    )

    def __init__(
        self,
        language: Language,
        settings: Callable[[], Settings],
        change: Callable[[str, Value], Awaitable[object]] | None = None,
        mute: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._words = language.skills[self.name].responses
        self._settings = settings
        self._change = change
        self._mute = mute
        self._before_silence = 0

    def heard(self, tool: str, arguments: Arguments) -> Call:
        if tool == "change_volume" and "less" in arguments:
            return Call(tool, {"step": -arguments["less"]})
        if tool == "set_volume" and 1 <= arguments["percent"] <= STEPS_OF_TEN:
            return Call(tool, {"percent": arguments["percent"] * STEPS_OF_TEN})
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        try:
            return ToolResult(await self._run(call.tool, call.arguments))
        except SettingsError:
            return ToolResult(self._words["fixed"])

    async def _run(self, tool: str, arguments: Arguments) -> str:
        volume = self._settings().voice.volume
        match tool:
            case "set_volume":
                return await self._set_volume(arguments["percent"])
            case "change_volume":
                if arguments["step"] > 0 and volume >= 100:
                    return self._words["loudest"]
                return await self._set_volume(max(0, min(100, volume + round(arguments["step"]))))
            case "get_volume":
                return self._words["volume_is"].format(percent=volume)
            case "unmute_sound":
                return await self._set_volume(volume or self._before_silence or LEAST_HEARD)
            case "mute_microphone":
                if not self._mute:
                    return self._words["no_microphone_switch"]
                await self._mute()
                return self._words["muted"]
            case "set_brightness":
                return await self._set_brightness(arguments["percent"])
            case "change_brightness":
                return await self._change_brightness(round(arguments["step"]))
            case _:
                return await self._change_speed(arguments.get("step"))

    async def _set_volume(self, percent: float) -> str:
        if not 0 <= percent <= 100 or percent != int(percent):
            return self._words["no_such_volume"]
        before = self._settings().voice.volume
        await self._put(VOLUME, int(percent))
        if self._settings().voice.volume != percent:
            return self._words["fixed"]
        if not percent:
            self._before_silence = before or self._before_silence
            return self._words["quietest"]
        return self._words["volume"].format(percent=int(percent))

    async def _set_brightness(self, percent: float) -> str:
        least, most = _bounds(BRIGHTNESS)
        if not least <= percent <= most or percent != int(percent):
            return self._words["no_such_brightness"].format(least=int(least), most=int(most))
        await self._put(BRIGHTNESS, int(percent))
        if self._settings().lights.brightness != percent:
            return self._words["fixed"]
        return self._words["brightness"].format(percent=int(percent))

    async def _change_brightness(self, step: int) -> str:
        least, most = _bounds(BRIGHTNESS)
        now = self._settings().lights.brightness
        wanted = max(int(least), min(int(most), now + step))
        if wanted == now:
            return self._words["brightest" if step > 0 else "darkest"]
        return await self._set_brightness(wanted)

    async def _change_speed(self, step: float | None) -> str:
        least, most = _bounds(SPEED)
        now = self._settings().voice.speed
        wanted = 1.0 if step is None else round(max(least, min(most, now + step)), 2)
        if wanted == now and step:
            return self._words["fastest" if step > 0 else "slowest"]
        await self._put(SPEED, wanted)
        if self._settings().voice.speed != wanted:
            return self._words["fixed"]
        if step is None:
            return self._words["normal"]
        return self._words["faster" if step > 0 else "slower"]

    async def _put(self, name: str, value: Value) -> None:
        if self._change:
            await self._change(name, value)


def _bounds(name: str) -> tuple[float, float]:
    known = find(name)
    return known.at_least or 0.0, known.at_most or 100.0
