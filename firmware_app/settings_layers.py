"""The settings in force: defaults < config file < changed by Echo < environment.

Every layer is checked alike. A fault in the owner's config file or in the environment is refused.
One in the file that Echo writes itself is left out and reported: it must not stop the box.
"""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from firmware_app.errors import SettingsError
from firmware_app.folders import state_dir
from firmware_app.settings import Settings
from firmware_app.settings_checks import (
    KNOWN,
    SECTIONS,
    Value,
    check,
    check_together,
    parse,
    suggestion,
)
from firmware_app.settings_files import line_of, read_toml

CONFIG_FILE = Path("/etc/hey-echo/config.toml")
PREFIX = "HEY_ECHO_"

# Variables that begin like settings and are none.
RESERVED = frozenset(
    {
        "HEY_ECHO_CONFIG",  # the config file, instead of the usual one
        "HEY_ECHO_FULL",  # whole counts in tests
        "HEY_ECHO_TEST_DATA",  # folder with the recordings that tests read
        "HEY_ECHO_TRAINING_DATA",  # folder with what the wake word is trained on
    }
)


class Layer(StrEnum):
    DEFAULT = "default"
    CONFIG = "config file"
    CHANGED = "changed"  # by voice, page or command; kept in <state>/settings.toml
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Origin:
    layer: Layer
    where: str = ""  # path of the file, or name of the variable


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, and for each name the layer that it comes from.

    problems: faults in <state>/settings.toml that were left out; to be logged and shown.
    """

    settings: Settings
    origin: Mapping[str, Origin]
    problems: tuple[SettingsError, ...] = ()


@dataclass(slots=True)
class LayerValues:
    """What one layer sets, and what is wrong with it, by name ("" for a file as a whole)."""

    values: dict[str, Value] = field(default_factory=dict)
    faults: dict[str, SettingsError] = field(default_factory=dict)


def load(environ: Mapping[str, str] = os.environ) -> Loaded:
    """Read and check all layers.

    Raises SettingsError for an unknown name, a wrong type, a value out of bounds, a combination
    that cannot work, or a file that cannot be read, naming file and line, or the variable.
    """
    return combine(config_layer(config_path(environ)), environ)


def combine(
    config: LayerValues, environ: Mapping[str, str], changed: LayerValues | None = None
) -> Loaded:
    """What the layers make together.

    changed: what <state>/settings.toml is about to say; then a contradiction in it is refused.
    """
    environment = environment_layer(environ)
    for fault in (*config.faults.values(), *environment.faults.values()):
        raise fault
    fixed = build(config.values | environment.values)
    path = changed_path(fixed, environ)
    about_to = changed is not None
    changed = changed or changed_layer(path)
    settings = build(config.values | changed.values | environment.values)
    try:
        check_together(settings)
    except SettingsError as fault:
        if about_to:
            raise
        check_together(fixed)  # raises where it is not Echo's own file that contradicts
        changed = LayerValues(faults={**changed.faults, "": _left_out(fault, path)})
        settings = fixed
    origin = {name: Origin(Layer.DEFAULT) for name in KNOWN}
    origin |= {name: Origin(Layer.CONFIG, str(config_path(environ))) for name in config.values}
    origin |= {name: Origin(Layer.CHANGED, str(path)) for name in changed.values}
    origin |= {name: Origin(Layer.ENVIRONMENT, KNOWN[name].variable) for name in environment.values}
    return Loaded(settings, origin, tuple(changed.faults.values()))


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    return Path(environ.get("HEY_ECHO_CONFIG") or CONFIG_FILE)


def changed_path(settings: Settings, environ: Mapping[str, str] = os.environ) -> Path:
    return state_dir(settings, environ) / "settings.toml"


def config_layer(path: Path) -> LayerValues:
    """The owner's file. Only the usual one may be missing; one that was named may not."""
    try:
        text, tables = read_toml(path)
    except SettingsError as fault:
        if fault.code == "config-missing" and path == CONFIG_FILE:
            return LayerValues()
        raise
    return _checked(path, text, tables)


def changed_layer(path: Path) -> LayerValues:
    """The file that Echo writes: settings marked changeable, and no fault that is not told."""
    try:
        text, tables = read_toml(path)
    except SettingsError as fault:
        if fault.code == "config-missing":
            return LayerValues()
        return LayerValues(faults={"": _left_out(fault, path)})
    layer = _checked(path, text, tables)
    for name in [name for name in layer.values if not KNOWN[name].changeable]:
        del layer.values[name]
        layer.faults[name] = not_changeable(name, f"{path}:{line_of(text, name)}: ")
    layer.faults = {name: _left_out(fault, path) for name, fault in layer.faults.items()}
    return layer


def environment_layer(environ: Mapping[str, str]) -> LayerValues:
    layer = LayerValues()
    names = {setting.variable: setting for setting in KNOWN.values()}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in RESERVED:
            continue
        try:
            if variable not in names:
                raise SettingsError(
                    "setting-unknown",
                    f"The environment variable {variable} names no setting.",
                    suggestion(variable, names),
                )
            setting = names[variable]
            layer.values[setting.name] = parse(setting, text, variable)
        except SettingsError as fault:
            layer.faults[variable] = fault
    return layer


def build(values: Mapping[str, Value]) -> Settings:
    """The tree with these checked values, and defaults for the rest."""
    settings = Settings()
    sections: dict[str, dict[str, Value]] = {}
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        sections.setdefault(section, {})[key] = value
    changes: dict[str, Any] = dict(sections.pop("", {}))
    for section, keys in sections.items():
        changes[section] = dataclasses.replace(getattr(settings, section), **keys)
    return dataclasses.replace(settings, **changes)


def value_of(settings: Settings, name: str) -> Value:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    found: Value = value
    return found


def not_changeable(name: str, where: str = "") -> SettingsError:
    return SettingsError(
        "setting-not-changeable",
        f"{where}{name} can only be set in the config file or the environment.",
        f"As the owner of the device: sudo hey-echo config set {name} VALUE",
    )


def _checked(path: Path, text: str, tables: Mapping[str, Any]) -> LayerValues:
    layer = LayerValues()
    for name, value in _leaves(tables):
        where = f"{path}:{line_of(text, name) or 1}"
        try:
            if name not in KNOWN:
                raise _unknown(name, value, where)
            layer.values[name] = check(KNOWN[name], value, where)
        except SettingsError as fault:
            layer.faults[name] = fault
    return layer


def _leaves(tables: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Names and values; a table of an unknown name counts as one."""
    found: list[tuple[str, object]] = []
    for name, value in tables.items():
        if isinstance(value, dict) and name in SECTIONS:
            found += [(f"{name}.{key}", inner) for key, inner in value.items()]
        else:
            found.append((name, value))
    return found


def _unknown(name: str, value: object, where: str) -> SettingsError:
    if name in SECTIONS:
        return SettingsError(
            "setting-unknown",
            f"{where}: {name} is a section and takes no value.",
            f"Write [{name}] on a line of its own, and the settings below it.",
        )
    kind, right = ("section", SECTIONS) if isinstance(value, dict) else ("setting", KNOWN)
    return SettingsError(
        "setting-unknown", f"{where}: there is no {kind} {name}.", suggestion(name, right)
    )


def _left_out(fault: SettingsError, path: Path) -> SettingsError:
    if fault.code == "config-unreadable":
        return SettingsError("changed-unreadable", f"{fault.what} It is left out.", fault.mend)
    return SettingsError(
        "changed-left-out",
        f"{fault.what} It is left out.",
        f"Drop it with hey-echo config unset NAME, or --all for the whole of {path}.",
    )


def shown(loaded: Loaded, name: str) -> dict[str, Any]:
    """A setting as `config show` prints it; a secret only as "(set)"."""
    setting = KNOWN[name]
    value = value_of(loaded.settings, name)
    return {
        "name": name,
        "value": "(set)" if setting.secret and value else value,
        "layer": loaded.origin[name].layer.value,
        "where": loaded.origin[name].where,
        "doc": setting.doc,
        "allowed": setting.allowed,
        "changeable": setting.changeable,
        "restart": setting.restart,
    }
