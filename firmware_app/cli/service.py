"""What commands need to know before they can call the running service, or do without it."""

import os
from pathlib import Path
from typing import Any

from firmware_app.cli.output import warn
from firmware_app.errors import ServiceError, SettingsError
from firmware_app.folders import runtime_dir
from firmware_app.settings import Settings
from firmware_app.settings_layers import build, environment_layer, load


def settings() -> Settings:
    """The settings in force; what was left out of them is told. Raises SettingsError."""
    loaded = load()
    for problem in loaded.problems:
        warn(str(problem))
    return loaded.settings


def runtime() -> Path:
    """Where the service's socket is, even while the settings have a fault."""
    try:
        return runtime_dir(load().settings)
    except SettingsError:
        named = environment_layer(os.environ).values
        return runtime_dir(build({k: v for k, v in named.items() if k.startswith("paths.")}))


def ask_service(name: str, /, **args: Any) -> Any:  # noqa: ANN401 - JSON, as the handler says
    """The result of a call, or None when no service runs. Raises as control.client.call does."""
    from firmware_app.control.client import call

    try:
        return call(runtime(), name, **args)
    except ServiceError as error:
        if error.code == "not-running":
            return None
        raise
