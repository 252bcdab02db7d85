"""The description of the API is the API: every route is in it, and nothing else."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)

from firmware_app.web import limits
from firmware_app.web.openapi import DOCUMENT
from tests.conftest import PATIENCE
from tests.web.phone import Phone
from tests.web.stand import Stand, stand

# The session is always sent: what comes without it is told in test_pairing.
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT | {"security": []})
PAGES = {"/", "/static/{path:.+}", "/plain", "/plain/{uuid}"}
KEPT = {"/api/unpair", "/api/live"}  # would end the session; has no end


async def test_every_route_is_described_and_every_one_described_is_there(there: Stand) -> None:
    routes = {
        (route.method.lower(), route.path)
        for route in there.server.routes
        if route.path not in PAGES
    }
    described = {
        (method, path) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    assert routes == described


async def test_paired_phones_may_read_it(phone: Phone) -> None:
    assert (await phone.get("/api/openapi.json")).body == DOCUMENT


@dataclass(frozen=True, slots=True)
class Away:
    """A server in a thread of its own, and the headers of a paired phone."""

    url: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    folder = tmp_path_factory.mktemp("away")
    ready: list[Away] = []
    started, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with stand(Path(folder)) as there:
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as session:
                await Phone(there, session).pair()
            (cookie,) = jar
            headers = {"Origin": there.url, "Cookie": f"{cookie.key}={cookie.value}"}
            ready.append(Away(there.url, headers))
            started.set()
            await over.wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits.Limit, "spend", lambda self, address: None)
        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        assert started.wait(PATIENCE)
        yield ready[0]
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


CHECKED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    positive_data_acceptance,
]


@SCHEMA.exclude(path=sorted(KEPT)).parametrize()
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_it_holds_for_whatever_is_asked(case: schemathesis.Case[Any], away: Away) -> None:
    response = case.call(base_url=away.url, headers=away.headers)
    case.validate_response(response, checks=CHECKED)
