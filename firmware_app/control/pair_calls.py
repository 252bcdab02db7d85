"""The calls pair.new, pair.list and pair.revoke: which phones may see the page."""

from dataclasses import asdict

from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.errors import ServiceError, UsageError
from firmware_app.web.codes import SECONDS, SHOWN_DIGITS, check_owner
from firmware_app.web.server import WebServer


def register(server: ControlServer, web: WebServer) -> None:
    async def new(call: Call) -> Json:
        """A code for a phone of this owner, and the address that holds it."""
        owner = check_owner(call.text("owner"))
        if not web.address:
            raise web.fault or ServiceError(
                "no-page",
                "The page is off.",
                "Turn it on with: sudo hey-echo config set web.enabled true",
            )
        code = web.codes.new(owner, SHOWN_DIGITS)
        return {
            "code": code,
            "owner": owner,
            "seconds": SECONDS,
            "address": web.address,
            "url": f"{web.address}/#pair={code}",
        }

    async def show(call: Call) -> Json:
        return [asdict(pairing) for pairing in web.pairings.of_owner(None)]

    async def revoke(call: Call) -> Json:
        number = call.args.get("id")
        if type(number) is not int:
            raise UsageError("malformed-call", 'pair.revoke needs "id".', "Send a whole number.")
        if not await web.pairings.revoke(number):
            raise UsageError(
                "no-such-phone", f"No phone {number} is paired.", "List them: hey-echo pair list"
            )
        return {}

    server.handle("pair.new", new)
    server.handle("pair.list", show)
    server.handle("pair.revoke", revoke)
