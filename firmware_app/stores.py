"""What the service keeps on the card: the state database and the history, opened and closed."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path

from firmware_app.condition import Condition
from firmware_app.dialogue.keeping import Keeper
from firmware_app.errors import SettingsError, StorageError
from firmware_app.events import Events, Notice, TurnTraced, WakeWasFalse
from firmware_app.folders import data_dir
from firmware_app.history.commands import history_path
from firmware_app.history.store import Forgotten, SetAside, Store, StoreEvent
from firmware_app.history.usage import Rates, load_rates
from firmware_app.settings import Settings
from firmware_app.state import StateStore, read_traces, state_file
from firmware_app.traces import Traces

log = logging.getLogger(__name__)

FLUSH_SECONDS = 2.0  # to write what waits, where the card is known to fail
STALLED_FLUSH_SECONDS = 10.0  # where it only takes long


async def open_state(stack: AsyncExitStack, state: Path, traces: Traces) -> StateStore | None:
    """The state database, with the traces of the last run taken over; the stack closes it.

    None where the card gives or takes none: Echo answers without it too.
    """
    try:
        store = await asyncio.to_thread(StateStore, state_file(state))
        stack.push_async_callback(asyncio.to_thread, store.close)
        for trace in await asyncio.to_thread(read_traces, state_file(state)):
            traces.add(trace)
    except StorageError as error:
        log.error("what must outlive a restart is not kept: %s", error)
        return None
    return store


async def keep_traces(events: Events, store: StateStore | None) -> None:
    """Write down the times of each turn, until cancelled."""
    listener = events.listen()
    async for event in listener:
        match event:
            case TurnTraced(trace) if store:
                store.keep_trace(trace)
            case WakeWasFalse(trace) if store:
                store.mark_false_wake(trace)


async def open_history(
    stack: AsyncExitStack, condition: Condition, events: Events
) -> Store | StorageError:
    """The workspace's history for the keeper, or why there is none; the stack closes it."""
    keeper = condition.keeper

    def on_event(event: StoreEvent) -> None:
        match event:
            case Forgotten(deleted):
                keeper.forgotten(deleted)
            case SetAside(path):
                events.publish(_set_aside(path))
            case _:
                condition.history = event.reason or "in order"
                keeper.tell()

    settings = condition.settings()
    workspace = settings.history.workspace
    try:
        path = history_path(data_dir(settings), workspace)
        store = await Store.open(path, workspace, on_event=on_event)
    except StorageError as error:
        log.error("nothing is saved: %s", error)
        condition.history = str(error)
        keeper.keep_in(None)
        return error
    stack.push_async_callback(_close_history, store, keeper)
    condition.history = store.reason or "in order"
    keeper.keep_in(store)
    return store


async def _close_history(store: Store, keeper: Keeper) -> None:
    keeper.end()
    given_up = await store.close(STALLED_FLUSH_SECONDS if store.saving else FLUSH_SECONDS)
    if given_up:
        log.error("%d writes to the history were given up", given_up)
    await keeper.close()


def _set_aside(path: Path) -> Notice:
    return Notice(
        "history-damaged",
        f"The history was damaged and lies at {path} now; a new one was begun. "
        "See what can be recovered with: hey-echo doctor",
    )


def rates(settings: Settings) -> Rates:
    """What engines cost; without a file that can be read no cost is ever shown."""
    file = settings.history.rates
    try:
        return load_rates(Path(file).expanduser()) if file else Rates()
    except SettingsError as error:
        log.error("%s", error)
        return Rates()
