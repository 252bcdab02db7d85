"""Changing one setting, in the owner's config file or in the file that Echo writes.

Nothing is written before the whole has been checked as the next start would check it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from firmware_app.settings_checks import Value, check, find, parse
from firmware_app.settings_files import remove_value, set_aside, write_value
from firmware_app.settings_layers import (
    LayerValues,
    Loaded,
    changed_layer,
    changed_path,
    combine,
    config_layer,
    config_path,
    load,
    not_changeable,
)

Environ = Mapping[str, str]


def set_in_config(name: str, text: str, environ: Environ = os.environ) -> Loaded:
    """Write the value into the owner's file, and return the settings as they are then.

    Raises SettingsError when the value, or what it makes together with the others, is refused;
    StorageError when the file cannot be written.
    """
    setting = find(name)
    value = parse(setting, text)
    path = config_path(environ)
    layer = _config_layer(path)
    layer.values[name] = value
    layer.faults.pop(name, None)
    loaded = combine(layer, environ)
    write_value(path, name, value, private=setting.secret)
    return loaded


def unset_in_config(name: str, environ: Environ = os.environ) -> bool:
    """Take the name, right or wrong, out of the owner's file; False when it is not in it."""
    path = config_path(environ)
    layer = _config_layer(path)
    if name not in layer.values and name not in layer.faults:
        find(name)
        return False
    layer.values.pop(name, None)
    layer.faults.pop(name, None)
    if not layer.faults:
        combine(layer, environ)
    return remove_value(path, name)


def set_changed(name: str, value: Value, environ: Environ = os.environ) -> Loaded:
    """Write a changeable setting into <state>/settings.toml, and return the settings as then.

    A file there that is not TOML is moved aside. Raises as set_in_config does.
    """
    setting = find(name)
    if not setting.changeable:
        raise not_changeable(name)
    value = check(setting, value)
    loaded = load(environ)
    path = changed_path(loaded.settings, environ)
    layer = changed_layer(path)
    layer.values[name] = value
    layer.faults.pop(name, None)
    unreadable = layer.faults.pop("", None)
    after = combine(config_layer(config_path(environ)), environ, layer)
    if unreadable:
        set_aside(path)
    write_value(path, name, value, private=True)
    return after


def unset_changed(name: str, environ: Environ = os.environ) -> bool:
    """Drop the override in <state>/settings.toml; False when there is none."""
    path = changed_path(load(environ).settings, environ)
    layer = changed_layer(path)
    if name not in layer.values and name not in layer.faults:
        find(name)
        return False
    return remove_value(path, name)


def unset_all_changed(environ: Environ = os.environ) -> Path | None:
    """Drop all overrides at once, readable or not, and return where they are kept now."""
    path = changed_path(load(environ).settings, environ)
    return set_aside(path) if path.exists() else None


def _config_layer(path: Path) -> LayerValues:
    return config_layer(path) if path.exists() else LayerValues()
