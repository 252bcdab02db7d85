"""Every refusal as a problem document (RFC 9457), and no traceback in any."""

import json
import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from aiohttp import web

from firmware_app.dialogue.live import StaleNumberError
from firmware_app.errors import EchoError, ServiceError, StorageError, UsageError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
PACKAGE = Path(__file__).resolve().parents[1]

# What an error of Echo's is in HTTP; other codes go by their class.
STATUSES = {
    "no-conversation": 404,
    "no-setting": 404,
    "is-a-pane": 409,
    "stale-number": 409,
    "muted-by-button": 409,
    "conversation-gone": 409,
    "too-many-messages": 429,
    "setting-not-changeable": 403,
    "setting-unknown": 404,
    "setting-invalid": 422,
    "settings-contradict": 422,
    "nothing-asked": 422,
    "not-awake": 503,
    "history-not-saving": 507,
}


class WebError(EchoError):
    """A refusal with its status. extra: further members of the document."""

    def __init__(
        self,
        code: str,
        what: str,
        mend: str,
        *,
        status: int,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, what, mend)
        self.status = status
        self.headers = headers or {}
        self.extra = extra or {}


def not_found() -> WebError:
    return WebError("not-found", "There is nothing here.", "Go back to the first page.", status=404)


def response(error: WebError) -> web.Response:
    return web.Response(
        status=error.status,
        body=document(error),
        content_type=MEDIA_TYPE,
        headers=error.headers,
    )


def document(error: WebError) -> bytes:
    return json.dumps(
        {
            "type": "about:blank",
            "title": HTTPStatus(error.status).phrase,
            "status": error.status,
            "detail": error.what,
            "code": error.code,
            "mend": error.mend,
            **error.extra,
        }
    ).encode()


def of_error(error: Exception) -> WebError:
    """What any exception becomes; one that nobody foresaw is logged, without a word of content."""
    if isinstance(error, WebError):
        return error
    if isinstance(error, EchoError):
        return _of_echo_error(error)
    if isinstance(error, web.HTTPException):
        return _of_http(error)
    log.error("a request failed: %s%s", type(error).__name__, _place(error))
    return WebError(
        "internal",
        "Echo failed at this request.",
        "Try again, then run: hey-echo doctor",
        status=500,
    )


def _of_echo_error(error: EchoError) -> WebError:
    status = STATUSES.get(error.code)
    if status is None:
        kinds = ((UsageError, 400), (ServiceError, 503), (StorageError, 503))
        status = next((of for kind, of in kinds if isinstance(error, kind)), 500)
    headers = {"Retry-After": "5"} if status in (429, 503) else {}
    extra = {"last_id": error.last_id} if isinstance(error, StaleNumberError) else {}
    return WebError(error.code, error.what, error.mend, status=status, headers=headers, extra=extra)


def _of_http(error: web.HTTPException) -> WebError:
    if isinstance(error, web.HTTPNotFound):
        return not_found()
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return WebError(
            "method-not-allowed",
            "That cannot be done here.",
            f"Use {allowed}.",
            status=405,
            headers={"Allow": allowed},
        )
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return too_large()
    return WebError(
        "bad-request", "The request makes no sense.", "Load the page anew.", status=error.status
    )


def too_large() -> WebError:
    what = "That is more than Echo takes at once."
    return WebError("body-too-large", what, "Send less.", status=413)


def _place(error: Exception) -> str:
    """File and line of Echo's own code in which it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    if not own:
        return ""
    return f" at {Path(own[-1].filename).relative_to(PACKAGE)}:{own[-1].lineno}"


@web.middleware
async def middleware(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
    try:
        result: web.StreamResponse = await handler(request)
    except Exception as error:
        if isinstance(error, ConnectionError):
            raise  # the client is gone
        return response(of_error(error))
    return result
