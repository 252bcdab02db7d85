"""How often one address may ask."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from aiohttp import web

from firmware_app.web.problems import WebError

ADDRESSES = 1024  # remembered at once


class Limit:
    """A bucket for each address: `burst` at once, then `each_second`."""

    def __init__(
        self, burst: float, each_second: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._each_second = each_second
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, address: str) -> None:
        """Raises WebError where the bucket is empty."""
        now = self._now()
        left, at = self._left.pop(address, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._each_second)
        enough = left >= 1
        self._left[address] = (left - 1 if enough else left, now)
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        if not enough:
            seconds = max(1, round((1 - left) / self._each_second))
            raise WebError(
                "too-often",
                "That was asked too often.",
                f"Wait {seconds} seconds.",
                status=429,
                headers={"Retry-After": str(seconds)},
            )


class Limits:
    def __init__(self) -> None:
        self.any = Limit(burst=240, each_second=40)
        self.pairing = Limit(burst=10, each_second=1 / 15)

    @property
    def middleware(self) -> Any:  # noqa: ANN401 - aiohttp marks functions
        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
            address = request.remote or ""
            self.any.spend(address)
            if request.path == "/api/pair":
                self.pairing.spend(address)
            result: web.StreamResponse = await handler(request)
            return result

        return check
