"""The calls about the history, answered by the running service."""

from collections.abc import Awaitable, Callable

from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.history.commands import Answer, Args, Commands


def register(server: ControlServer, commands: Commands) -> None:
    for name, command in commands.table().items():
        server.handle(name, _handler(command))


def _handler(command: Callable[[Args], Awaitable[Answer]]) -> Callable[[Call], Awaitable[Json]]:
    async def handle(call: Call) -> Json:
        return await command(call.args)

    return handle
