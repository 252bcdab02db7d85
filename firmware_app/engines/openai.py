"""A language model on another machine, behind an OpenAI-compatible server.

Words leave the device only to the host that the owner has named twice (see `WordsGoTo`), and
redirects are never followed.
"""

import asyncio
import ipaddress
import json
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from firmware_app.engines import Message, Tool, ToolCall, Usage
from firmware_app.errors import EngineError, SettingsError
from firmware_app.settings import ModelSettings

CONNECT_SECONDS = 3.0
FIRST_TOKEN_SECONDS = 30.0
NEXT_TOKEN_SECONDS = 15.0
LONGEST_LINE = 1 << 20  # bytes of one event

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
HOME = tuple(
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",  # RFC 1122, this device
        "::1/128",  # RFC 4291
        "10.0.0.0/8",  # RFC 1918
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",  # RFC 3927, link-local
        "fc00::/7",  # RFC 4193
        "fe80::/10",  # RFC 4291, link-local
    )
)


def is_home(address: str) -> bool:
    """Whether an IP address is this device's or the home network's."""
    ip: Address = ipaddress.ip_address(address.split("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return any(ip.version == network.version and ip in network for network in HOME)


@dataclass(frozen=True, slots=True)
class WordsGoTo:
    """The server the owner has chosen, once the settings agree about it."""

    url: str  # without a slash at its end
    host: str
    encrypted: bool
    abroad: bool  # the owner allows that it is outside the home network

    @classmethod
    def from_settings(cls, settings: ModelSettings) -> "WordsGoTo":
        """Raises SettingsError where the settings do not allow words to be sent."""
        try:
            parts = URL(settings.url)  # the same reading of it as the client's
        except ValueError:
            parts = URL()
        host = parts.host
        if parts.scheme not in ("http", "https") or not host:
            raise SettingsError(
                "model-url",
                f"model.url is {settings.url!r}, which is not the address of a server.",
                "Set it to something like http://host:8080/v1.",
            )
        if parts.user or parts.password:
            raise SettingsError(
                "model-url",
                "model.url has a user or a password in it.",
                "Take it out, and put the key into model.api_key.",
            )
        if settings.send_words_to.strip().lower().strip("[]") != host.lower():
            named = f"names {settings.send_words_to}" if settings.send_words_to else "is not set"
            raise SettingsError(
                "send-words",
                f"What is said would be sent to {host}, but model.send_words_to {named}.",
                f"If that is what you want, run: hey-echo config set model.send_words_to {host}",
            )
        return cls(
            settings.url.rstrip("/"),
            host,
            parts.scheme == "https",
            settings.send_words_off_the_home_network,
        )

    def allow(self, addresses: Sequence[str]) -> None:
        """Raise SettingsError where one of the host's addresses must not be sent words."""
        foreign = [address for address in addresses if not is_home(address)]
        if foreign and not self.abroad:
            raise SettingsError(
                "send-words-abroad",
                f"{self.host} (model.url) is {foreign[0]}, which is outside the home network.",
                "Name a server at home, or set model.send_words_off_the_home_network to true.",
            )

    def allow_literal(self) -> None:
        """The same for a host that is an address, which is never looked up."""
        try:
            ipaddress.ip_address(self.host.split("%")[0])
        except ValueError:
            return
        self.allow([self.host])


def where_words_go(settings: ModelSettings) -> str:
    """One sentence that says where words are sent, for status, page and doctor.

    It looks nothing up: a host that is a name is checked with each connection. Raises
    SettingsError where the settings do not allow words to be sent.
    """
    if settings.backend == "llama":
        return "Words stay on this device."
    target = WordsGoTo.from_settings(settings)
    target.allow_literal()
    if not target.abroad:
        return f"Words go to {target.host}, which must be on the home network."
    how = "encrypted" if target.encrypted else "unencrypted"
    return f"Words go to {target.host}, which may be outside the home network, {how}."


class _CheckedResolver(AbstractResolver):
    """Looks names up and refuses forbidden addresses; the connection uses just those it returns."""

    def __init__(self, target: WordsGoTo) -> None:
        self._target = target

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
        addresses = [(str(address[0]), kind) for kind, _, _, _, address in found]
        self._target.allow([address for address, _ in addresses])
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=kind,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address, kind in addresses
        ]

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class _Call:
    """A tool call whose parts are still arriving."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Stream:
    """What one reply has brought so far."""

    calls: dict[int, _Call] = field(default_factory=dict)
    begun: bool = False
    finished: bool = False
    counted: bool = False


class OpenAIModel:
    """The model that an OpenAI-compatible server runs. Raises SettingsError when made."""

    can_call_tools = True
    small = False

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model or "default"
        self.usage = Usage()
        self._settings = settings
        self._target = WordsGoTo.from_settings(settings)
        self._session: aiohttp.ClientSession | None = None

    async def ready(self) -> None:
        """Ask the server for its models, so that what is wrong is known now. Raises EchoError."""
        try:
            response = await self._request("GET", "/models", None, FIRST_TOKEN_SECONDS)
            async with asyncio.timeout(NEXT_TOKEN_SECONDS):
                models = await self._json(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        names = [str(model.get("id")) for model in _listed(models)]
        if not self._settings.model and names:
            self.name = names[0]
        elif names and self.name not in names:
            raise self._no_model(names)

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens by a rule of thumb, on the high side: the protocol has no way to ask.

        Three bytes a token (English has about four), and eight for what a template adds.
        """
        return [len(text.encode()) // 3 + 8 for text in texts]

    async def prefill(self, messages: Sequence[Message]) -> None:
        """Nothing: the server keeps its own cache, and unasked words stay here."""

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall, None]:
        """Yield the reply's text as it comes, then its tool calls. Raises EchoError."""
        stream = _Stream()
        try:
            response = await self._request(
                "POST", "/chat/completions", self._body(messages, tools), FIRST_TOKEN_SECONDS
            )
            try:
                if response.content_type != "text/event-stream":
                    raise self._not_a_server(response.content_type)
                events = self._events(response)
                while (event := await _next(events, stream)) is not None:
                    try:
                        texts = self._take(event, stream)
                    except (AttributeError, TypeError, ValueError):
                        raise self._not_a_server("a stream of another shape") from None
                    for text in texts:
                        yield text
            finally:
                response.close()
                self.usage.incomplete |= not stream.counted
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        if not stream.finished:
            raise self._broken_off()
        for call in stream.calls.values():
            yield ToolCall(call.id, call.name, call.arguments)

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float
    ) -> aiohttp.ClientResponse:
        """Raises EchoError for a forbidden address and for a status that is not success."""
        self._target.allow_literal()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=_CheckedResolver(self._target), use_dns_cache=False
                ),
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
                read_bufsize=LONGEST_LINE,
            )
        key = self._settings.api_key
        async with asyncio.timeout(seconds):
            response = await self._session.request(
                method,
                self._target.url + path,
                json=body,
                headers={"Authorization": f"Bearer {key}"} if key else None,
                allow_redirects=False,
            )
        if response.status >= 300:
            response.close()
            raise self._refused(response.status)
        return response

    def _body(self, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_as_json(message) for message in messages],
            "temperature": self._settings.temperature,
            "max_tokens": self._settings.reply_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in tools
            ]
        return body

    async def _events(
        self, response: aiohttp.ClientResponse
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The stream's events until [DONE], or until the server closes it."""
        try:
            async for line in response.content:
                data = line.strip().removeprefix(b"data:")
                if data == line.strip():
                    continue  # a comment, or another field
                if data.strip() == b"[DONE]":
                    return
                yield json.loads(data)
        except ValueError:  # no JSON, or a line without end
            raise self._not_a_server("a stream that is not JSON") from None

    def _take(self, event: dict[str, Any], stream: _Stream) -> list[str]:
        """Note what an event brings; return its text."""
        if "error" in event:
            raise self._server_says(event["error"])
        if usage := event.get("usage"):
            self._add_usage(usage, stream)
        texts = []
        for choice in event.get("choices") or []:
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                texts.append(str(text))
            for part in delta.get("tool_calls") or []:
                call = stream.calls.setdefault(part.get("index", 0), _Call())
                function = part.get("function") or {}
                call.id = part.get("id") or call.id
                name = function.get("name") or ""
                if name != call.name:  # llama.cpp's Python server repeats it with each part
                    call.name += name
                call.arguments += function.get("arguments") or ""
            stream.begun |= bool(texts or stream.calls)
            stream.finished |= bool(choice.get("finish_reason"))
        return texts

    def _add_usage(self, usage: Mapping[str, Any], stream: _Stream) -> None:
        if stream.counted:
            return
        stream.counted = True
        details = usage.get("prompt_tokens_details") or {}
        self.usage.prompt_tokens += int(usage.get("prompt_tokens") or 0)
        self.usage.generated_tokens += int(usage.get("completion_tokens") or 0)
        self.usage.cached_tokens += int(details.get("cached_tokens") or 0)

    def _refused(self, status: int) -> EngineError:
        """What a status other than success means."""
        where = f"The server {self._target.host} (model.url)"
        if status < 400:
            return EngineError(
                "server-redirect",
                f"{where} sends on to another address, and words are not sent after it.",
                "Set model.url to the server's final address.",
            )
        if status in (401, 403):
            return EngineError(
                "server-key",
                f"{where} refuses the key (status {status}).",
                "Set model.api_key to a key that it knows.",
            )
        if status == 404:
            return self._no_model([])
        if status in (400, 413, 422):
            return EngineError(
                "server-refused",
                f"{where} does not accept what was sent to it (status {status}).",
                "Set model.context_tokens to no more than that server's context, or see its log.",
            )
        if status == 429:
            return EngineError(
                "server-busy",
                f"{where} has too much to do, or its quota is used up (status 429).",
                "Ask again in a moment.",
            )
        return EngineError(
            "server-failed",
            f"{where} failed with status {status}.",
            "Look at that server's log.",
        )

    async def _json(self, response: aiohttp.ClientResponse) -> object:
        try:
            return await response.json()
        except (aiohttp.ContentTypeError, ValueError):
            raise self._not_a_server(response.content_type) from None

    def _not_a_server(self, got: str) -> EngineError:
        return EngineError(
            "server-kind",
            f"{self._target.url} (model.url) is not an OpenAI-compatible server: it sent {got}.",
            "Set model.url to its base address, which mostly ends in /v1.",
        )

    def _no_model(self, names: Sequence[str]) -> EngineError:
        has = f"; it has {', '.join(names[:8])}" if names else ""
        return EngineError(
            "server-model",
            f"The server at {self._target.url} has no model {self.name!r}{has}.",
            "Set model.model to a name that it has, and model.url to its base address.",
        )

    def _server_says(self, error: object) -> EngineError:
        """A failure in the middle of the stream; its text may hold words and is not repeated."""
        code = error.get("code") or error.get("type") if isinstance(error, dict) else None
        return EngineError(
            "server-failed",
            f"The server {self._target.host} stopped with an error ({code or 'no reason given'}).",
            "Look at that server's log.",
        )

    def _broken_off(self) -> EngineError:
        return EngineError(
            "server-broke-off",
            f"The server {self._target.host} broke off in the middle of its reply.",
            "Ask again; if it happens often, look at that server's log.",
        )

    def _unreachable(self, error: Exception) -> EngineError:
        where = f"{self._target.host} (model.url)"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            what = f"The address of {where} cannot be found."
        elif isinstance(error, aiohttp.ClientConnectorCertificateError):
            what = f"The certificate of {where} is not trusted."
        elif isinstance(error, aiohttp.ConnectionTimeoutError):
            what = f"{where} does not answer within {CONNECT_SECONDS:.0f} seconds."
        elif isinstance(error, TimeoutError):
            what = f"The server {where} took too long to go on with its reply."
        elif isinstance(error, aiohttp.ClientConnectorError):
            what = f"Nothing answers at {where}: {error.os_error.strerror or 'no connection'}."
        else:
            return self._broken_off()
        return EngineError(
            "server-unreachable", what, "See that it runs and is reachable, and check model.url."
        )


async def _next(
    events: AsyncGenerator[dict[str, Any], None], stream: _Stream
) -> dict[str, Any] | None:
    """The stream's next event, None at its end. Raises TimeoutError."""
    async with asyncio.timeout(NEXT_TOKEN_SECONDS if stream.begun else FIRST_TOKEN_SECONDS):
        return await anext(events, None)


def _as_json(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        found["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    if message.call_id:
        found["tool_call_id"] = message.call_id
    return found


def _listed(models: object) -> list[dict[str, Any]]:
    data = models.get("data") if isinstance(models, dict) else None
    return [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []
