"""From a device's thread to the asyncio loop."""

import asyncio
from collections.abc import Callable


class Wake:
    """An asyncio event that another thread sets, with one wake-up of the loop for many calls."""

    def __init__(self) -> None:
        """To be made on the loop."""
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._on_its_way = False

    def set_from_thread(self) -> None:
        if not self._on_its_way:
            self._on_its_way = True
            self.call(self._arrive)

    def call(self, function: Callable[[], None]) -> None:
        """Run something on the loop; nothing, when the loop has ended."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # the loop is closed, and so is whatever was waiting
            self._on_its_way = True

    def _arrive(self) -> None:
        self._on_its_way = False
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    async def wait(self) -> None:
        await self._event.wait()
