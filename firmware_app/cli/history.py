"""How `chats` and `backup` reach the history: through the service, or in its stead."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from firmware_app.cli.service import runtime, settings
from firmware_app.errors import ServiceError, StorageError, UsageError

T = TypeVar("T")
Ask: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]


def reach(command: Callable[[Ask], Awaitable[T]]) -> T:
    """Run a command with something to ask the history by."""
    return asyncio.run(_reach(command))


def confirm(question: str, *, yes: bool) -> None:
    """Raises UsageError unless the user agrees."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("not-confirmed", f"{question} Nobody can answer here.", "Add --yes.")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UsageError("not-confirmed", "Nothing was done.", "")


async def _reach(command: Callable[[Ask], Awaitable[T]]) -> T:
    try:
        return await command(_ask_service)
    except ServiceError as error:
        if error.code != "not-running":
            raise
    return await _in_its_stead(command)


async def _ask_service(name: str, **args: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    from firmware_app.control.stream import stream

    async for answer in stream(runtime(), name, **args):
        if "result" in answer:
            result: dict[str, Any] = answer["result"]
            return result
    raise ServiceError("no-answer", "Echo hung up without an answer.", "Try again.")


async def _in_its_stead(command: Callable[[Ask], Awaitable[T]]) -> T:
    from firmware_app.control.lock import service_lock
    from firmware_app.folders import data_dir, runtime_dir
    from firmware_app.history.commands import Commands, history_path
    from firmware_app.history.store import Store
    from firmware_app.history.usage import Rates, load_rates

    chosen = settings()
    path = history_path(data_dir(chosen), chosen.history.workspace)
    rates = load_rates(Path(chosen.history.rates)) if chosen.history.rates else Rates()
    with service_lock(runtime_dir(chosen)):
        store = await Store.open(path, chosen.history.workspace)
        if not store.saving:  # a damaged one has been set aside by now, and a new one can be made
            await store.close()
            store = await Store.open(path, chosen.history.workspace)
        try:
            if not store.saving:
                raise StorageError(
                    "history-unusable",
                    f"The history in {path} cannot be used: {store.reason}.",
                    "Run it as the service's user, and see: hey-echo doctor",
                )
            calls = Commands(store, rates).table()

            async def ask(name: str, **args: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
                if name not in calls:
                    raise ServiceError(
                        "not-running",
                        "Echo is not running.",
                        "Start it with: sudo systemctl start hey-echo",
                    )
                return await calls[name](args)

            return await command(ask)
        finally:
            await store.close()
