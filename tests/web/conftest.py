from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.web.phone import Phone
from tests.web.stand import Stand, stand


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Stand]:
    """The web server on a box with a filled history."""
    async with stand(tmp_path) as made:
        yield made


@pytest.fixture
async def new_phone(there: Stand) -> AsyncIterator[Callable[[], Phone]]:
    """new_phone() is one that nobody has paired yet."""
    sessions: list[aiohttp.ClientSession] = []

    def make() -> Phone:
        session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        sessions.append(session)
        return Phone(there, session)

    async with AsyncExitStack() as stack:
        yield make
        for session in sessions:
            await stack.enter_async_context(session)


@pytest.fixture
async def stranger(new_phone: Callable[[], Phone]) -> Phone:
    return new_phone()


@pytest.fixture
async def phone(new_phone: Callable[[], Phone]) -> Phone:
    """A phone of the owner of the room."""
    made = new_phone()
    await made.pair()
    return made


@pytest.fixture
async def bob(new_phone: Callable[[], Phone]) -> Phone:
    """A phone of somebody else in the house."""
    made = new_phone()
    await made.pair("bob", "bob's phone")
    return made
