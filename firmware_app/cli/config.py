"""hey-echo config: look at the settings, and change them."""

import argparse
import os
from pathlib import Path
from typing import Any

from firmware_app.cli.output import as_json, as_text, table, warn
from firmware_app.cli.service import ask_service, runtime
from firmware_app.errors import SettingsError, UsageError
from firmware_app.settings_checks import KNOWN, check_together, find, parse
from firmware_app.settings_layers import (
    Layer,
    build,
    config_layer,
    config_path,
    load,
    shown,
)


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    config = commands.add_parser("config", help="look at the settings, and change them")
    verbs = config.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(name: str, run: Any, doc: str) -> argparse.ArgumentParser:  # noqa: ANN401
        parser: argparse.ArgumentParser = verbs.add_parser(name, help=doc, description=doc)
        parser.set_defaults(run=run)
        return parser

    show = verb("show", run_show, "every setting, its value, and where the value comes from")
    show.add_argument("--json", action="store_true", help="for programs")
    verb("get", run_get, "the value of one setting").add_argument("name", metavar="NAME")
    put = verb("set", run_set, "change a setting")
    put.add_argument("name", metavar="NAME")
    put.add_argument("value", metavar="VALUE")
    unset = verb("unset", run_unset, "go back to what the layer below says")
    unset.add_argument("name", metavar="NAME", nargs="?")
    unset.add_argument("--all", action="store_true", help="everything that Echo changed itself")
    validate = verb("validate", run_validate, "check a config file, or all layers")
    validate.add_argument("file", metavar="FILE", nargs="?", type=Path)
    verb("path", run_path, "where the config file is")


def run_show(arguments: argparse.Namespace) -> int:
    rows = _rows()
    if arguments.json:
        as_json(rows)
        return 0
    table(
        ("setting", "value", "from", "what it is"),
        [
            (
                row["name"],
                as_text(row["value"]) or '""',
                row["layer"] if row["layer"] == Layer.DEFAULT else row["where"],
                f"{row['doc']} ({row['allowed']})",
            )
            for row in rows
        ],
        right=frozenset(),
    )
    print(f"\n{_where_words_go()}")
    return 0


def run_get(arguments: argparse.Namespace) -> int:
    name = find(arguments.name).name
    print(next(as_text(row["value"]) for row in _rows() if row["name"] == name))
    return 0


def run_set(arguments: argparse.Namespace) -> int:
    setting = find(arguments.name)
    parse(setting, arguments.value)  # a wrong value needs no service to be refused
    row = None
    if setting.changeable:
        row = ask_service("config.set", name=setting.name, value=arguments.value)
    if row is not None:
        print(f"{setting.name} is {as_text(row['value'])} now.")
        _tell_what_covers_it(row, Layer.CHANGED)
        if row["restart"]:
            _tell_of_restart()
        return 0
    from firmware_app.settings_change import set_in_config

    loaded = set_in_config(setting.name, arguments.value)
    said = "set" if setting.secret else as_text(parse(setting, arguments.value))
    print(f"{setting.name} is {said} in {config_path()}.")
    _tell_what_covers_it(shown(loaded, setting.name), Layer.CONFIG)
    _tell_of_restart()
    return 0


def run_unset(arguments: argparse.Namespace) -> int:
    if arguments.all == (arguments.name is not None):
        raise UsageError("usage", "unset takes a NAME, or --all.", "Name one setting.")
    if arguments.all:
        dropped = _drop_override(None)
        print("Everything that Echo changed is dropped." if dropped else "There was nothing.")
        return 0
    name = arguments.name
    if _drop_override(name):
        print(f"{name} is no longer changed by Echo.")
        return 0
    from firmware_app.settings_change import unset_in_config

    if unset_in_config(name):
        print(f"{name} is no longer set in {config_path()}.")
        _tell_of_restart()
    else:
        print(f"{name} was not set.")
    return 0


def run_validate(arguments: argparse.Namespace) -> int:
    """All faults at once, not only the first."""
    path = arguments.file or config_path()
    faults: list[SettingsError] = []
    try:
        layer = config_layer(path)
        faults += layer.faults.values()
        if not faults:
            if arguments.file:
                check_together(build(layer.values))
            else:
                faults += load().problems
    except SettingsError as fault:
        faults.append(fault)
    for told in faults:
        warn(str(told))
    if faults:
        return SettingsError.exit_status
    print(f"{path} is valid." if path.exists() else "The settings are valid.")
    return 0


def run_path(arguments: argparse.Namespace) -> int:
    print(config_path())
    return 0


def _rows() -> list[dict[str, Any]]:
    """The settings as the files say; as the service says where its file may not be read."""
    loaded = load()
    if any(problem.code == "changed-unreadable" for problem in loaded.problems):
        rows: list[dict[str, Any]] | None = ask_service("config.show")
        if rows is not None:
            return rows
    for problem in loaded.problems:
        warn(str(problem))
    return [shown(loaded, name) for name in KNOWN]


def _where_words_go() -> str:
    settings = load().settings.model
    if settings.backend != "openai":
        return "Words stay on this device."
    from firmware_app.engines.openai import where_words_go

    return where_words_go(settings)


def _drop_override(name: str | None) -> bool:
    """Drop one override, or all, through the service, or in its stead while none runs."""
    args: dict[str, Any] = {"all": True} if name is None else {"name": name}
    answer = ask_service("config.unset", **args)
    if answer is not None:
        return bool(answer["dropped"])
    from firmware_app.control.lock import service_lock
    from firmware_app.settings_change import unset_all_changed, unset_changed

    with service_lock(runtime()):
        return unset_all_changed() is not None if name is None else unset_changed(name)


def _tell_what_covers_it(row: dict[str, Any], layer: Layer) -> None:
    if row["layer"] == layer:
        return
    mend = f"hey-echo config unset {row['name']}" if row["layer"] == Layer.CHANGED else "unset it"
    warn(f"{row['where']} says otherwise and counts more; to end that: {mend}")


def _tell_of_restart() -> None:
    from firmware_app.control.protocol import socket_path

    if os.path.exists(socket_path(runtime())):  # noqa: PTH110 - unlike Path's it never raises
        print("It counts from the next start of Echo: sudo systemctl restart hey-echo")
