"""The calls config.show, config.set and config.unset of the running service."""

import asyncio
import os
from collections.abc import Callable, Mapping

from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.errors import UsageError
from firmware_app.settings_change import set_changed, unset_all_changed, unset_changed
from firmware_app.settings_checks import KNOWN, Value, check, find, parse
from firmware_app.settings_layers import Loaded, load, shown


class ConfigCalls:
    """Answers them, and tells the service of each change.

    changed: called on the loop with the settings as they are after a change; those that need a
    restart have changed in it too.
    """

    def __init__(
        self,
        changed: Callable[[Loaded], None],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._changed = changed
        self._environ = environ
        self._one_at_a_time = asyncio.Lock()

    def register(self, server: ControlServer) -> None:
        server.handle("config.show", self._show)
        server.handle("config.set", self._set)
        server.handle("config.unset", self._unset)

    async def _show(self, call: Call) -> Json:
        loaded = await asyncio.to_thread(load, self._environ)
        return [shown(loaded, name) for name in KNOWN]

    async def _set(self, call: Call) -> Json:
        setting = find(call.text("name"))
        value = call.args.get("value")
        parsed = parse(setting, value) if isinstance(value, str) else check(setting, value)
        return shown(await self.change(setting.name, parsed), setting.name)

    async def change(self, name: str, value: Value) -> Loaded:
        """Change a setting as config.set does. Raises SettingsError, StorageError."""
        async with self._one_at_a_time:
            loaded = await asyncio.to_thread(set_changed, name, value, self._environ)
            self._changed(loaded)
        return loaded

    async def _unset(self, call: Call) -> Json:
        """{"dropped": whether there was something to drop}; all: every override at once."""
        if not isinstance(call.args.get("all", False), bool):
            raise UsageError("malformed-call", 'config.unset takes "all" as true or false.', "")
        async with self._one_at_a_time:
            if call.args.get("all"):
                dropped = await asyncio.to_thread(unset_all_changed, self._environ) is not None
            else:
                name = call.text("name")
                dropped = await asyncio.to_thread(unset_changed, name, self._environ)
            if dropped:
                self._changed(await asyncio.to_thread(load, self._environ))
        return {"dropped": dropped}
