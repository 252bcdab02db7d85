"""Which settings the parts at work were made with, and which wait for a restart."""

from firmware_app.settings import Settings
from firmware_app.settings_checks import KNOWN, Value
from firmware_app.settings_layers import value_of

# Read once, when the process starts; engines and devices are made anew within it.
OF_THE_PROCESS = ("paths.", "log.", "history.", "web.", "device.")


def changed_names(before: Settings, after: Settings) -> list[str]:
    return [name for name in KNOWN if value_of(before, name) != value_of(after, name)]


class InForce:
    """The values, by name, of the settings that take effect only with a start."""

    def __init__(self, settings: Settings) -> None:
        self._values: dict[str, Value] = {
            name: value_of(settings, name) for name, known in KNOWN.items() if known.restart
        }

    def loaded(self, settings: Settings) -> None:
        """Engines and devices were made anew with these."""
        for name in self._values:
            if not name.startswith(OF_THE_PROCESS):
                self.applied(name, settings)

    def applied(self, name: str, settings: Settings) -> None:
        """What this setting chooses is at work already."""
        if name in self._values:
            self._values[name] = value_of(settings, name)

    def waiting(self, settings: Settings) -> list[str]:
        """Names whose values are other ones now."""
        return [name for name, value in self._values.items() if value_of(settings, name) != value]
