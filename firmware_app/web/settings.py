"""The settings that the page shows; those that only the owner may change say so."""

from typing import Any

from aiohttp import web

from firmware_app.settings_checks import KNOWN, check
from firmware_app.settings_layers import not_changeable, value_of
from firmware_app.web.answers import answer, done
from firmware_app.web.asked import body
from firmware_app.web.parts import Parts
from firmware_app.web.problems import WebError

SHOWN = (
    "voice.save_conversations",
    "voice.history",
    "dialogue.follow_up",
    "dialogue.follow_up_seconds",
    "voice.volume",
    "voice.speed",
    "voice.engine",
    "voice.model",
    "audio.chimes",
    "lights.brightness",
    "lights.night_brightness",
    "lights.night_hours",
    "wake.sensitivity",
    # By the owner alone, over SSH.
    "language",
    "dialogue.owner",
    "dialogue.conversation_minutes",
    "recogniser.engine",
    "model.backend",
    "model.send_words_to",
    "web.address",
    "web.port",
)


class SettingsRoutes:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/api/settings", self._list, allow_head=False),
            web.put("/api/settings/{name}", self._change),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        return answer({"settings": [self._shown(name) for name in SHOWN]})

    async def _change(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        value = (await body(request, "value")).scalar("value")
        if name not in SHOWN:
            raise WebError(
                "no-setting", "There is no such setting.", "Load the page anew.", status=404
            )
        known = KNOWN[name]
        if not known.changeable:
            raise not_changeable(name)
        await self._parts.change(name, check(known, value))
        return done()

    def _shown(self, name: str) -> dict[str, Any]:
        known, loaded = KNOWN[name], self._parts.loaded()
        bounds = {"at_least": known.at_least, "at_most": known.at_most}
        return {
            "name": name,
            "value": value_of(loaded.settings, name),
            "doc": known.doc,
            "changeable": known.changeable,
            "restart": known.restart,
            "layer": loaded.origin[name].layer,
            **({"choices": list(known.choices)} if known.choices else {}),
            **{bound: value for bound, value in bounds.items() if value is not None},
        }
