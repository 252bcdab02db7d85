"""The calls by which the command line takes part in the talk."""

from collections.abc import Callable
from contextlib import aclosing

from firmware_app.app import Echo
from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer, Handler
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.talk import Talk


def register(server: ControlServer, awake: Callable[[], Echo], keeper: Keeper, talk: Talk) -> None:
    """awake: Echo at work; raises ServiceError while it is not."""

    async def ask(call: Call) -> Json:
        async with aclosing(awake().dialogue.ask(call.text("text"))) as clauses:
            async for clause in clauses:
                await call.event({"clause": clause})
        return {}

    async def carry_on(call: Call) -> Json:
        """Answered when the conversation is open, which may be after the reply in progress."""
        conversation = await awake().dialogue.carry_on(call.text("uuid"))
        return {
            "uuid": conversation.uuid,
            "title": conversation.title,
            "saved": keeper.status,
        }

    async def stop(call: Call) -> Json:
        awake()
        talk.stop()
        return {}

    async def say(call: Call) -> Json:
        """Answered when it has been said."""
        await talk.announce(call.text("text"))
        return {}

    def switch_mute(muted: bool) -> Handler:
        async def switch(call: Call) -> Json:
            await talk.set_muted(muted)
            return {"muted": talk.situation.muted}

        return switch

    server.handle("ask", ask)
    server.handle("chats.continue", carry_on)
    server.handle("stop", stop)
    server.handle("say", say)
    server.handle("mute", switch_mute(True))
    server.handle("unmute", switch_mute(False))
