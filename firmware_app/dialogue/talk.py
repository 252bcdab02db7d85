"""The talk from outside: what a page, the button and the command line see of it and do to it.

It is there whoever is awake: the open conversation, text mode and mute outlive the engines.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.live import (
    Begun,
    LiveConversation,
    LiveEntry,
    Situation,
    StaleNumberError,
    not_awake,
)
from firmware_app.dialogue.opening import Opening
from firmware_app.dialogue.switches import Switches
from firmware_app.errors import EchoError, StorageError, UsageError
from firmware_app.events import (
    CarriedOn,
    Events,
    Mode,
    ModeChanged,
    MuteChanged,
    Notice,
    RingingChanged,
    State,
    StateChanged,
)
from firmware_app.frames import Samples
from firmware_app.history.faults import NoConversationError
from firmware_app.state import StateStore

log = logging.getLogger(__name__)

KEYS = 1000  # of typed messages that are remembered, whether or not they are saved
TEXT_MODE = "Echo is in text mode: it hears nothing, and answers in writing."
MUTED = "Echo is muted: it hears nothing."


class Talk:
    """Implements `live.Live`.

    capture: called with whether the microphone is to be open; it may be so already.
    fault: why Echo cannot be awake, where it cannot.
    """

    def __init__(
        self,
        keeper: Keeper,
        events: Events,
        capture: Callable[[bool], None],
        fault: Callable[[], EchoError | None] = lambda: None,
    ) -> None:
        self._keeper = keeper
        self._events = events
        self._capture = capture
        self._fault = fault
        self._switches = Switches()
        self._store: StateStore | None = None
        self._writing: set[asyncio.Task[None]] = set()
        self._dialogue: Dialogue | None = None
        self._closed = True  # the microphone, as its device reports
        self._ringing: str | None = None
        self._keys: OrderedDict[tuple[str, str], int] = OrderedDict()

    async def restore(self, store: StateStore | None) -> None:
        """Take over mode and mute as they were; from now on they are kept there."""
        self._store = store
        if store:
            try:
                self._switches = await Switches.kept_in(store)
            except StorageError as error:
                self._not_kept(error)
        self._take_effect()

    async def follow(self) -> None:
        """Hear what rings, until cancelled."""
        async for event in self._events.listen():
            if isinstance(event, RingingChanged):
                self._ringing = event.name if event.ringing else None

    def attach(self, dialogue: Dialogue) -> None:
        """Echo is awake, and its microphone opens where it may."""
        self._dialogue = dialogue
        self._closed = not self.listens
        self._take_effect()

    def detach(self) -> None:
        """Echo is not; its microphone was closed with it."""
        self._dialogue = None
        self._closed = True
        self.tell()

    def on_microphone(self, ready: bool, text: str, closed: bool) -> None:
        """The device reports: ready to hear, or why not; closed where that was asked for."""
        changed, self._closed = self._closed is not closed, closed
        if self._dialogue:
            self._dialogue.hears(ready or closed, text)
            self._dialogue.close_ears(self._why_closed, closed)
        if changed:
            self._tell_of_mute()

    @property
    def listens(self) -> bool:
        """Whether people want the microphone open."""
        return not self._why_closed

    # What is seen.

    @property
    def situation(self) -> Situation:
        conversation = self._keeper.conversation
        dialogue, fault = self._dialogue, self._fault()
        if dialogue:
            state, detail = dialogue.state, dialogue.detail
        else:
            state, detail = (State.ERROR, str(fault)) if fault else (State.STARTING, "")
        return Situation(
            state,
            detail,
            self._switches.mode,
            bool(self._switches.muted),
            self._closed,
            self._ringing,
            self._keeper.status,
            conversation.uuid,
            conversation.owner,
        )

    def tell(self) -> None:
        """Tell what the light is to show."""
        situation = self.situation
        self._events.publish(StateChanged(situation.state, situation.detail))

    def current(self, owner: str, before: int | None, limit: int) -> LiveConversation:
        conversation: Conversation | None = self._keeper.conversation
        if conversation and conversation.owner != owner:
            conversation = self._dialogue.waiting_of(owner) if self._dialogue else None
        if conversation is None:
            raise NoConversationError
        entries = [e for e in conversation.entries if before is None or e.number < before]
        page = entries[-limit:]
        return LiveConversation(
            conversation.uuid,
            conversation.owner,
            conversation.kind,
            conversation.title,
            conversation.begun,
            conversation.continued,
            self._keeper.status_of(conversation),
            conversation.next_number - 1,
            [
                LiveEntry(
                    entry.number,
                    entry.kind,
                    entry.text,
                    entry.status,
                    entry.input_mode,
                    entry.created,
                    entry.confidence,
                    conversation.is_kept(entry.number),
                )
                for entry in page
            ],
            len(entries) > len(page),
            self._dialogue.so_far(conversation) if self._dialogue else None,
        )

    # What is done.

    async def begin(
        self,
        owner: str,
        *,
        chat: str | None = None,
        new: bool = False,
        save: bool | None = None,
        mode: Mode | None = None,
    ) -> Begun:
        opening = await self._wanted(owner, chat, new, save, mode or self._switches.mode)
        if mode:
            self._begin_to_switch(self._switches.in_mode(mode))
        dialogue = self._dialogue
        if dialogue is None or opening.wanted is self._keeper.conversation:
            if dialogue:
                dialogue.forgo_openings()
            conversation = await opening.perform(self._keeper)
            if conversation.continued and not dialogue:
                self._events.publish(CarriedOn(conversation.uuid, conversation.title))
            return Begun(conversation.uuid, True)
        ready = dialogue.expects_speech
        dialogue.open(opening)
        if ready:
            await opening.done
        return Begun(opening.uuid, ready)

    async def _wanted(
        self, owner: str, chat: str | None, new: bool, save: bool | None, mode: Mode
    ) -> Opening:
        is_open = self._keeper.conversation
        wanted: Conversation | str = Conversation(owner)
        if chat is not None:
            if (is_open.owner, is_open.uuid) == (owner, chat):
                wanted = is_open
            else:
                wanted = await self._keeper.find(chat, owner)
        elif not new and is_open.owner == owner:
            wanted = is_open
        return Opening(owner, wanted, save is not False, mode is Mode.VOICE)

    async def send(self, owner: str, number: int, key: str, text: str) -> int:
        text = _readable(text)
        if (known := await self.arrived(owner, key)) is not None:
            return known
        await self._awake().opened(owner)
        if (known := self._keys.get((owner, key))) is not None:
            return known  # it came twice at once
        dialogue = self._awake()
        conversation = dialogue.conversation_of(owner)
        if number != conversation.next_number:
            raise StaleNumberError(conversation.next_number - 1)
        typed = dialogue.accept(text, conversation, key)
        if not typed.asked:  # a command is no entry; its number is not given again
            conversation.take_number()
        self._keys[owner, key] = number
        if len(self._keys) > KEYS:
            self._keys.popitem(last=False)
        await self._keeper.settled()
        return number

    async def arrived(self, owner: str, key: str) -> int | None:
        if (known := self._keys.get((owner, key))) is not None:
            return known
        return await self._keeper.number_of_key(owner, key)

    def stop(self) -> None:
        if self._dialogue:
            self._dialogue.stop()

    async def announce(self, text: str, sound: Samples | None = None) -> None:
        """Say something of Echo's own, also in text mode: it is no reply.

        Raises ServiceError "not-awake" where there is no voice, and what `Dialogue.announce` does.
        """
        await self._awake().announce(text, sound)

    @property
    def awake(self) -> bool:
        """Whether there is a dialogue, and so a voice."""
        return self._dialogue is not None

    def false_wake(self) -> None:
        if self._dialogue:
            self._dialogue.note_false_wake()

    # Text mode and mute.

    async def set_mode(self, mode: Mode, owner: str | None = None) -> None:
        conversation = self._keeper.conversation
        if mode is Mode.VOICE and owner == conversation.owner:
            conversation.by_voice = True
        await self._switch(self._switches.in_mode(mode))

    async def set_muted(self, muted: bool) -> None:
        if muted and not self._switches.muted:
            await self._switch(self._switches.mute("page"))
        elif not muted and self._switches.muted == "button":
            raise UsageError(
                "muted-by-button",
                "Echo was muted with its button, so nobody may unmute it from afar.",
                "Hold the button for two seconds.",
            )
        elif not muted:
            await self._switch(self._switches.unmute())

    def toggle_mute(self) -> None:
        """The button was held: mute, or open the microphone whatever closed it."""
        switches = self._switches
        self._begin_to_switch(switches.mute("button") if self.listens else switches.unmute())

    async def _switch(self, switches: Switches) -> None:
        if writing := self._begin_to_switch(switches):
            await asyncio.shield(writing)

    def _begin_to_switch(self, switches: Switches) -> asyncio.Task[None] | None:
        """It takes effect at once; the card follows."""
        before, self._switches = self._switches, switches
        if switches == before:
            return None
        self._take_effect()
        if switches.mode is not before.mode:
            self._events.publish(ModeChanged(switches.mode))
        self._tell_of_mute()
        writing = asyncio.create_task(self._write(switches))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return writing

    async def _write(self, switches: Switches) -> None:
        if self._store:
            try:
                await switches.keep_in(self._store)
            except StorageError as error:
                self._not_kept(error)

    def _take_effect(self) -> None:
        self._capture(self.listens)
        if self._dialogue:
            self._dialogue.as_text(self._switches.mode is Mode.TEXT)
            self._dialogue.close_ears(self._why_closed, self._closed)

    @property
    def _why_closed(self) -> str:
        if self._switches.muted:
            return MUTED
        return TEXT_MODE if self._switches.mode is Mode.TEXT else ""

    def _tell_of_mute(self) -> None:
        self._events.publish(MuteChanged(bool(self._switches.muted), self._closed))

    def _not_kept(self, error: StorageError) -> None:
        log.error("text mode and mute do not survive a restart: %s", error)
        self._events.publish(Notice(error.code, str(error)))

    # The button.

    def press(self) -> None:
        """Stop what is being said, or listen; with the microphone closed show that it is."""
        if self._dialogue:
            self._dialogue.press()
        if not self.listens:
            self._tell_of_mute()

    def dont_save(self) -> None:
        """Pressed twice: the open conversation is not saved from now on."""
        self._keeper.leave_unsaved()

    def cancel_listening(self) -> None:
        """The button is being held: what its press began to listen to is none."""
        if self._dialogue:
            self._dialogue.cancel_listening()

    def _awake(self) -> Dialogue:
        if self._dialogue is None:
            raise not_awake(self._fault())
        return self._dialogue


def _readable(text: str) -> str:
    """The text without the space around it. Raises UsageError where there is none, or no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = ""
    if text := text.strip():
        return text
    raise UsageError(
        "empty-message",
        "The message has no text that can be read.",
        "Write something, and send it.",
    )
