"""The page's own files, read once at the start and compressed once."""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from firmware_app.web.problems import not_found

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
REVALIDATE = "no-cache"  # kept by the browser, asked after each time; an update counts at once

MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_TEXT = {".css", ".html", ".js", ".json", ".svg", ".webmanifest"}


@dataclass(frozen=True, slots=True)
class File:
    """zipped: None where compressing does not help."""

    media_type: str
    etag: str
    plain: bytes
    zipped: bytes | None


class Static:
    def __init__(self, folder: Path = FOLDER) -> None:
        self.files = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.suffix in MEDIA_TYPES
        }

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/", self._index), web.get("/static/{path:.+}", self._file)]

    async def _index(self, request: web.Request) -> web.Response:
        return self._answer(request, INDEX)

    async def _file(self, request: web.Request) -> web.Response:
        return self._answer(request, request.match_info["path"])

    def _answer(self, request: web.Request, path: str) -> web.Response:
        file = self.files.get(path)
        if file is None:
            raise not_found()
        zipped = file.zipped if "gzip" in request.headers.get("Accept-Encoding", "") else None
        headers = {"Cache-Control": REVALIDATE, "Vary": "Accept-Encoding"}
        response = web.Response(headers=headers)
        etag = f"{file.etag}-gzip" if zipped else file.etag
        response.etag = etag
        if any(tag.value in (etag, "*") for tag in request.if_none_match or ()):
            response.set_status(304)
            return response
        response.content_type = file.media_type
        if file.media_type.startswith("text/"):
            response.charset = "utf-8"
        if zipped:
            response.headers["Content-Encoding"] = "gzip"
        response.body = zipped or file.plain
        return response


def _read(path: Path) -> File:
    plain = path.read_bytes()
    zipped = gzip.compress(plain, 9, mtime=0) if path.suffix in _TEXT else None
    return File(
        MEDIA_TYPES[path.suffix],
        hashlib.sha256(plain).hexdigest()[:16],
        plain,
        zipped if zipped and len(zipped) < len(plain) else None,
    )
