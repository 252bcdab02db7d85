"""Getting in: the session of this phone, pairing it, and the list of the others."""

from typing import Any

from aiohttp import web

from firmware_app import __version__
from firmware_app.web.answers import answer, done
from firmware_app.web.asked import body, nothing
from firmware_app.web.codes import Codes
from firmware_app.web.live import situation_json
from firmware_app.web.pairings import LONGEST_NAME, Pairing, Pairings
from firmware_app.web.parts import Parts
from firmware_app.web.problems import not_found
from firmware_app.web.security import PAIRING, Cookies


class PairingRoutes:
    """address: of the page, as people type it."""

    def __init__(
        self, parts: Parts, pairings: Pairings, codes: Codes, cookies: Cookies, address: str
    ) -> None:
        self._parts = parts
        self._pairings = pairings
        self._codes = codes
        self._cookies = cookies
        self._address = address

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/healthz", self._health),
            web.get("/api/status", self._status, allow_head=False),
            web.get("/api/session", self._session, allow_head=False),
            web.post("/api/pair", self._pair),
            web.post("/api/unpair", self._unpair),
            web.get("/api/pairings", self._list, allow_head=False),
            web.delete("/api/pairings/{id}", self._revoke),
        ]

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _status(self, request: web.Request) -> web.Response:
        """What the light shows, anybody may see."""
        situation = self._parts.live.situation
        status: dict[str, Any] = {
            "state": situation.state,
            "microphone_closed": situation.microphone_closed,
            "muted": situation.muted,
            "mode": situation.mode,
            "version": __version__,
        }
        if pairing := request.get(PAIRING):
            room = self._parts.loaded().settings.dialogue.owner
            full = situation_json(situation, pairing.owner, room)
            status |= {name: full[name] for name in ("detail", "saved", "ringing")}
            status["address"] = self._address
        return answer(status)

    async def _session(self, request: web.Request) -> web.Response:
        pairing = request.get(PAIRING)
        mine = {"owner": pairing.owner, "name": pairing.name} if pairing else {}
        return answer(
            {
                "paired": pairing is not None,
                **mine,
                "secure": request.secure,
                "needs": None if pairing else "pairing",
                "language": self._parts.loaded().settings.language,
            }
        )

    async def _pair(self, request: web.Request) -> web.Response:
        fields = await body(request, "code", "name")
        tried = fields.text("code", 20).replace(" ", "").replace("-", "")
        name = _name(fields.optional_text("name", LONGEST_NAME) or "")
        owner = self._codes.take(tried)
        token = await self._pairings.add(owner, name)
        if before := request.get(PAIRING):  # a phone that pairs anew has one session, the new one
            await self._pairings.revoke(before.id)
        response = done()
        self._cookies.give(response, token)
        return response

    async def _unpair(self, request: web.Request) -> web.Response:
        await nothing(request)
        await self._pairings.revoke(request[PAIRING].id)
        response = done()
        self._cookies.take(response)
        return response

    async def _list(self, request: web.Request) -> web.Response:
        this = request[PAIRING]
        return answer(
            [_shown(p, current=p.id == this.id) for p in self._pairings.of_owner(this.owner)]
        )

    async def _revoke(self, request: web.Request) -> web.Response:
        await nothing(request)
        number = request.match_info["id"]
        if not (number.isascii() and number.isdigit() and len(number) <= 15):
            raise not_found()
        if not await self._pairings.revoke(int(number), request[PAIRING].owner):
            raise not_found()
        return done()


def _name(text: str) -> str:
    """Of a phone, as it is shown; terminals must not be made to obey it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _shown(pairing: Pairing, *, current: bool) -> dict[str, Any]:
    return {
        "id": pairing.id,
        "name": pairing.name,
        "owner": pairing.owner,
        "created": pairing.created,
        "last_used": pairing.last_used,
        "current": current,
    }
