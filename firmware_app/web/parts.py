"""What the web server needs of the rest of Echo."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from firmware_app.dialogue.live import Live
from firmware_app.errors import StorageError
from firmware_app.events import Events
from firmware_app.history.store import Store
from firmware_app.history.usage import Rates
from firmware_app.settings_checks import Value
from firmware_app.settings_layers import Loaded


@dataclass(frozen=True, slots=True)
class Parts:
    """loaded: the settings in force. change: as ConfigCalls.change. history: or why there is none.
    announce: say something aloud; raises ServiceError where there is no voice.
    """

    loaded: Callable[[], Loaded]
    change: Callable[[str, Value], Awaitable[Loaded]]
    live: Live
    history: Store | StorageError
    events: Events
    rates: Rates
    announce: Callable[[str], Awaitable[None]]

    @property
    def store(self) -> Store:
        """Raises StorageError."""
        if isinstance(self.history, StorageError):
            raise self.history
        return self.history
