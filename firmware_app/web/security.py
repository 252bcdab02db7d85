"""What every request must satisfy, and what every answer carries."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from firmware_app.web.addresses import address_of, name_of_host, own_names
from firmware_app.web.pairings import KEPT_SECONDS, Pairing, Pairings
from firmware_app.web.parts import Parts
from firmware_app.web.problems import WebError

PAIRING: Final = web.RequestKey("pairing", Pairing)
RENEWED: Final = web.RequestKey("renewed", str)  # the token, where its cookie is to be given anew
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OPEN_PATHS = frozenset({"/", "/plain", "/healthz", "/api/status", "/api/session", "/api/pair"})
STATIC = "/static/"

_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _PAGE,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}


async def add_headers(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """What a route has set itself stands."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.secure:  # elsewhere browsers ignore it, and complain
        response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    response.headers.pop("Server", None)


class Cookies:
    """The session cookie: read by this server alone, sent by no other page."""

    def __init__(self, port: int, *, secure: bool) -> None:
        """A name for each port: cookies do not know ports, and two boxes may share a name."""
        self._secure = secure
        self.name = f"{'__Host-' if secure else ''}hey-echo-{port}"

    def token(self, request: web.Request) -> str | None:
        return request.cookies.get(self.name)

    def give(self, response: web.StreamResponse, token: str) -> None:
        response.set_cookie(
            self.name,
            token,
            max_age=KEPT_SECONDS,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="Strict",
        )

    async def renew(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Before an answer goes out, the live events among them: they are all that some ask for."""
        token = request.get(RENEWED)
        if token and self.name not in response.cookies:
            fresh = web.Response()  # the cookies of the answer are headers already
            self.give(fresh, token)
            response.headers.add("Set-Cookie", fresh.cookies[self.name].OutputString())

    def take(self, response: web.StreamResponse) -> None:
        response.del_cookie(
            self.name, path="/", secure=self._secure, httponly=True, samesite="Strict"
        )


class Guard:
    """Middlewares, in the order in which they are to be asked."""

    def __init__(self, parts: Parts, pairings: Pairings, cookies: Cookies) -> None:
        self._parts = parts
        self._pairings = pairings
        self._cookies = cookies

    @property
    def host(self) -> Any:  # noqa: ANN401 - aiohttp marks functions
        """A name of another's that leads here is how pages elsewhere reach into a home."""

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
            name = name_of_host(request.headers.get("Host", ""))
            if name is None or not self._is_own(request, name):
                raise WebError(
                    "unknown-host",
                    "Echo does not go by that name.",
                    "Use its address, or add the name to the setting web.hosts.",
                    status=421,
                )
            result: web.StreamResponse = await handler(request)
            return result

        return check

    @property
    def origin(self) -> Any:  # noqa: ANN401
        """Changes come from the page itself."""

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
            changing = request.method in CHANGING
            if changing or request.path == "/api/live":
                check_origin(request, must_say=changing)
            result: web.StreamResponse = await handler(request)
            return result

        return check

    @property
    def session(self) -> Any:  # noqa: ANN401
        """Nothing but the pairing page without a paired phone."""

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
            token = self._cookies.token(request)
            pairing = self._pairings.of_token(token) if token else None
            if token and pairing:
                request[PAIRING] = pairing
                if self._pairings.use(token):
                    request[RENEWED] = token
            elif request.path not in OPEN_PATHS and not request.path.startswith(STATIC):
                raise WebError(
                    "not-paired", "This phone is not paired.", "Pair it: hey-echo pair", status=401
                )
            result: web.StreamResponse = await handler(request)
            return result

        return check

    def _is_own(self, request: web.Request, name: str) -> bool:
        address = address_of(name)
        if address is None:
            return name in own_names(self._parts.loaded().settings.web)
        own = request.get_extra_info("sockname")
        return own is not None and address == address_of(str(own[0]))


def check_origin(request: web.Request, *, must_say: bool) -> None:
    """Raises WebError unless the request comes from a page of this server.

    Browsers send Origin with every change. Sec-Fetch-Site they send in secure contexts alone, and
    neither with a plain read of their own page.
    """
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    fine = site in (None, "same-origin")
    if origin is not None:
        found = urlsplit(origin)
        fine = fine and (found.scheme, found.netloc.lower()) == (
            request.scheme,
            request.headers.get("Host", "").lower(),
        )
    if must_say and site is None and origin is None:
        fine = False
    if not fine:
        raise WebError(
            "cross-site",
            "Only Echo's own page may ask that.",
            "Open Echo's page itself.",
            status=403,
        )


def owner_of(request: web.Request) -> str:
    return request[PAIRING].owner
