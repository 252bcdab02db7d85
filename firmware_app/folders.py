"""Where Echo keeps its files: the named folder, else the system's if there is one, else the user's.

environ is a parameter so that tests and the demo can live beside an installed Echo.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from firmware_app.settings import Settings

Environ = Mapping[str, str]
GROUP = "hey-echo"  # whose members may speak to the service


def choose_folder(named: str, system: Path, own: Path) -> Path:
    if named:
        return Path(named).expanduser()
    return system if system.is_dir() else own


def state_dir(settings: Settings, environ: Environ = os.environ) -> Path:
    own = own_folder("XDG_STATE_HOME", ".local/state", environ)
    return choose_folder(settings.paths.state, Path("/var/lib/hey-echo"), own)


def data_dir(settings: Settings, environ: Environ = os.environ) -> Path:
    if settings.paths.data:
        return Path(settings.paths.data).expanduser()
    return state_dir(settings, environ) / "data"


def runtime_dir(settings: Settings, environ: Environ = os.environ) -> Path:
    session = environ.get("XDG_RUNTIME_DIR")
    own = Path(session) / "hey-echo" if session else state_dir(settings, environ) / "run"
    return choose_folder(settings.paths.runtime, Path("/run/hey-echo"), own)


def own_folder(variable: str, default: str, environ: Environ = os.environ) -> Path:
    """hey-echo's folder under the user's XDG base folder; default is relative to the home."""
    base = environ.get(variable)
    return (Path(base) if base else Path.home() / default) / "hey-echo"
