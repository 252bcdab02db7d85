"""A file fetched over HTTP into the parts folder: resumed, bounded, checked by size and hash.

urllib of the standard library does it: it takes proxies from the environment, set-up can use it
before anything is installed, and nothing here wants more than one request at a time.
"""

import contextlib
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from firmware_app import __version__
from firmware_app.errors import EchoError, EngineError, UsageError
from firmware_app.model_store.place import need_room, part_path, sync, writing
from firmware_app.models import sha256

CHUNK = 1 << 18  # bytes read at once
LOOK_AT_DISK = 1 << 23  # bytes between two looks at the room left
SILENCE_SECONDS = 30.0  # after which a connection counts as lost
REDIRECTS = 5
BROKE_OFF = 4  # times in a row without a byte gained, after which it is given up
PAUSE_SECONDS = 1.0  # doubled each time
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # states of a server that pass
HTML = (b"<!doctype html", b"<html", b"<head")

Tell: TypeAlias = Callable[[int, int], None]  # bytes that are there, bytes in all (0: not known)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file by its contents. bytes 0: not known; then at_most bounds it."""

    name: str
    sha256: str
    bytes: int = 0
    at_most: int = 0

    @property
    def limit(self) -> int:
        return self.bytes or self.at_most


class WrongFileError(EngineError):
    """What came is not the file that was wanted; another source may have it."""


class NotThereError(EngineError):
    """The source does not have the file."""


class _BrokeOffError(Exception):
    """The connection was lost, or the server is busy: to be tried again."""


def download(url: str, wanted: Wanted, place: Path, tell: Tell, *, plain: bool = False) -> Path:
    """The file, whole and checked, in the parts folder of the place; to be moved from there.

    plain: http is as good as https, as with a mirror on the home network.
    Raises UsageError for an address of another kind, WrongFileError, NotThereError, EngineError
    where it cannot be fetched, StorageError where it cannot be written.
    """
    check_address(url, plain=plain)
    part = _Part(place, wanted)
    failures, resumed = 0, part.size > 0
    while True:
        before = part.size
        try:
            if part.size != wanted.bytes or not wanted.bytes:
                _transfer(url, part, tell, plain=plain)
            return part.finished()
        except WrongFileError:
            part.drop()
            if not resumed:
                raise
            resumed = False  # two halves of different files: once more from the beginning
        except _BrokeOffError as error:
            failures = 0 if part.size > before else failures + 1
            if failures > BROKE_OFF:
                raise _lost(url, part, error) from error
            time.sleep(PAUSE_SECONDS * 2 ** max(0, failures - 1))


def check_address(url: str, *, plain: bool) -> None:
    """Raises UsageError for anything but https, or http where that is as good."""
    allowed = ("https", "http") if plain else ("https",)
    address = urlsplit(url)
    if address.scheme not in allowed or not address.hostname:
        raise UsageError(
            "model-address",
            f"Models are not fetched from {url}.",
            f"Give an address that begins with {' or '.join(f'{each}://' for each in allowed)}.",
        )


def file_name(url: str) -> str:
    return unquote(urlsplit(url).path).rpartition("/")[2]


class _Part:
    """A download as far as it is there; its name is the hash of what it will be."""

    def __init__(self, place: Path, wanted: Wanted) -> None:
        self.wanted = wanted
        self.place = place
        self.path = part_path(place, wanted.sha256)
        self._note = self.path.with_suffix(".from")  # which version of the file it is part of
        with writing(place):
            self.path.parent.mkdir(exist_ok=True)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def validator(self, url: str) -> str:
        """ETag or date of the version that the part is of, empty where the server gave none."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            note = json.loads(self._note.read_text("utf-8"))
            if note["url"] == url:
                return str(note["validator"])
        return ""

    def begin(self, url: str, headers: http.client.HTTPMessage) -> None:
        """Start anew, and note which version of the file this is."""
        etag = headers.get("ETag", "")
        validator = etag if etag.startswith('"') else headers.get("Last-Modified", "")
        with writing(self.place):
            self.path.write_bytes(b"")
            self._note.write_text(json.dumps({"url": url, "validator": validator}), "utf-8")

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finished(self) -> Path:
        """The path, when it is what was wanted. Raises WrongFileError, _BrokeOffError."""
        wanted = self.wanted
        if wanted.bytes and self.size < wanted.bytes:
            raise _BrokeOffError(f"{self.size} of {wanted.bytes} bytes came")
        if sha256(self.path) != wanted.sha256:
            raise WrongFileError(
                "model-hash-differs",
                f"What came as {wanted.name} is not the file that was meant: its SHA-256 is "
                "another one.",
                "Nothing was installed. Try again later, or from another source with --from.",
            )
        with writing(self.place):
            sync(self.path)
        self._note.unlink(missing_ok=True)
        return self.path


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A few, and never to another kind of address (such as file:)."""

    max_redirections = REDIRECTS
    max_repeats = 2

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        check_address(newurl, plain=self._plain)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Body(Protocol):
    status: int
    headers: http.client.HTTPMessage

    def read(self, amount: int = ..., /) -> bytes: ...

    def close(self) -> None: ...


def _open(request: urllib.request.Request, *, plain: bool) -> _Body:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),  # as the environment says: https_proxy, no_proxy, …
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(plain=plain),
    ):
        opener.add_handler(handler)
    response: _Body = opener.open(request, timeout=SILENCE_SECONDS)
    return response


def _transfer(url: str, part: _Part, tell: Tell, *, plain: bool) -> None:
    """Add to the part what is missing. Raises _BrokeOffError where less came than was announced."""
    headers = {"User-Agent": f"hey-echo/{__version__}", "Accept-Encoding": "identity"}
    have = part.size
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator := part.validator(url):
            headers["If-Range"] = validator
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
        response = _open(request, plain=plain)
        try:
            _take(url, response, part, have, tell)
        finally:
            response.close()
    except urllib.error.HTTPError as error:
        _on_status(url, error, part)
    except urllib.error.URLError as error:
        raise _BrokeOffError(_reason(error.reason)) from error
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:  # its first line
        raise _BrokeOffError(_reason(error)) from error


def _on_status(url: str, error: urllib.error.HTTPError, part: _Part) -> None:
    error.close()
    if error.code == 416:  # the part reaches beyond the end of what is there now
        part.drop()
        raise _BrokeOffError("the file is another one now") from error
    if error.code in PASSING:
        raise _BrokeOffError(f"the server answers {error.code} {error.reason}") from error
    if error.code in (404, 410):
        raise NotThereError(
            "model-not-there",
            f"{url} does not exist ({error.code}).",
            "Check the address, or fetch the model from another source with --from.",
        ) from error
    what = f"answers {error.code} {error.reason}"
    if error.code in (301, 302, 303, 307, 308):
        elsewhere = "not allowed" in str(error.reason)  # urllib's words for file: and the like
        what = (
            "leads to an address that models are not fetched from"
            if elsewhere
            else "leads from one address to the next without end"
        )
    raise EngineError(
        "model-not-fetched",
        f"{url} {what}.",
        "Check the address in a browser, or fetch the model from another source with --from.",
    ) from error


def _take(url: str, response: _Body, part: _Part, have: int, tell: Tell) -> None:
    length = _number(response.headers.get("Content-Length", ""))
    continued = response.status == 206 and _range_start(response) == have
    if have and not continued:
        have = 0
    _refuse_other_kinds(url, response)
    chunk = _read(response)
    if not have:
        _refuse_html(url, chunk)
    _refuse_other_sizes(part.wanted, have + length if length is not None else None)
    if not have:
        part.begin(url, response.headers)
    need_room(part.place, max(part.wanted.bytes - have, 0))
    total = part.wanted.bytes or (have + length if length is not None else 0)
    announced = None if length is None else have + length
    with writing(part.place), part.path.open("ab") as out:
        while chunk:
            have += len(chunk)
            if part.wanted.limit and have > part.wanted.limit:
                raise _too_long(part.wanted)
            out.write(chunk)
            tell(have, total)
            if have % LOOK_AT_DISK < len(chunk):
                need_room(part.place, 0)
            chunk = _read(response)
    if announced is not None and have < announced:
        raise _BrokeOffError(f"{have} of {announced} bytes came")


def _read(response: _Body) -> bytes:
    """The next bytes, empty at the end; what comes before a loss is kept."""
    try:
        return response.read(CHUNK)
    except http.client.IncompleteRead as error:
        if error.partial:
            return error.partial
        raise _BrokeOffError("the connection ended early") from error
    except (OSError, http.client.HTTPException) as error:
        raise _BrokeOffError(_reason(error)) from error


def _range_start(response: _Body) -> int | None:
    """N of "Content-Range: bytes N-M/L"."""
    value = response.headers.get("Content-Range", "").removeprefix("bytes ").strip()
    return _number(value.partition("-")[0])


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _refuse_other_kinds(url: str, response: _Body) -> None:
    kind = response.headers.get_content_type()
    if kind in ("text/html", "application/xhtml+xml"):
        raise _html(url)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise WrongFileError(
            "model-not-fetched",
            f"{url} packs the file in a way that was not asked for.",
            "Fetch the model from another source with --from.",
        )


def _refuse_html(url: str, beginning: bytes) -> None:
    if beginning.lstrip()[:20].lower().startswith(HTML):
        raise _html(url)


def _html(url: str) -> WrongFileError:
    return WrongFileError(
        "model-is-a-page",
        f"{url} gave a web page instead of the model.",
        "Open the address in a browser: it may ask to log in, or a network may show its own page.",
    )


def _refuse_other_sizes(wanted: Wanted, announced: int | None) -> None:
    if announced is None:
        return
    if wanted.limit and announced > wanted.limit:
        raise _too_long(wanted)
    if wanted.bytes and announced < wanted.bytes:
        raise WrongFileError(
            "model-size-differs",
            f"{wanted.name} should have {wanted.bytes} bytes, and {announced} are offered.",
            "Nothing was installed. Try again later, or from another source with --from.",
        )


def _too_long(wanted: Wanted) -> WrongFileError:
    return WrongFileError(
        "model-size-differs",
        f"More than the {wanted.limit} bytes that {wanted.name} may have are offered.",
        "Nothing was installed. Try again later, or from another source with --from.",
    )


def _lost(url: str, part: _Part, error: Exception) -> EchoError:
    kept = f" {part.size / 1e6:.1f} MB of it are kept." if part.size else ""
    return EngineError(
        "model-not-fetched",
        f"{url} could not be fetched: {error}.{kept}",
        "Check the network (and https_proxy, where there is a proxy), and run the command again: "
        "it goes on where it stopped.",
    )


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came for {SILENCE_SECONDS:g} seconds"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
