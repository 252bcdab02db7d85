"""hey-echo models: look at the models, install, check, choose and remove them."""

import argparse
import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firmware_app.cli.output import as_json, say, table, warn
from firmware_app.cli.recommend import run_recommend
from firmware_app.cli.service import runtime, settings
from firmware_app.errors import EchoError, EngineError, ServiceError, UsageError

if TYPE_CHECKING:
    from firmware_app.models import Model


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("models", help="look at the models, install and choose them")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(name: str, run: Callable[..., int], doc: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(name, help=doc, description=doc)
        made.set_defaults(run=run)
        return made

    listing = verb("list", run_list, "the models there are, which are installed, which in use")
    listing.add_argument("--json", action="store_true", help="for programs")
    recommend = verb("recommend", run_recommend, "measure this box, and name what fits it")
    recommend.add_argument("--json", action="store_true", help="for programs")
    _add_install(verb("install", run_install, "fetch models and put them in place"))
    verify = verb("verify", run_verify, "read installed models through (default: all)")
    verify.add_argument("names", metavar="NAME", nargs="*")
    use = verb("use", run_use, "choose another model, while the conversation goes on")
    use.add_argument("name", metavar="NAME", help="of an installed model, or espeak")
    remove = verb("remove", run_remove, "take a model off the disk")
    remove.add_argument("name", metavar="NAME")
    remove.add_argument("--yes", action="store_true", help="also a packaged one")


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="of the catalogue")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="DIR or URL",
        action="append",
        default=[],
        help="where copies of the files are: a folder, or an address at home",
    )
    own = parser.add_argument_group("a model that the catalogue does not know")
    own.add_argument("--name", metavar="NAME", help="what to call it")
    own.add_argument("--kind", choices=("language-model", "recogniser", "voice"))
    own.add_argument("--engine", default="", help="for a recogniser: vosk or whisper")
    own.add_argument("--language", default="", metavar="CODE", help="which it speaks, such as en")
    own.add_argument("--licence", default="", metavar="NAME")
    own.add_argument(
        "--url",
        dest="urls",
        metavar="URL",
        action="append",
        default=[],
        help="of its archive, or of each of its files; https",
    )
    own.add_argument(
        "--sha256",
        dest="hashes",
        metavar="HASH",
        action="append",
        default=[],
        help="of each file, in the same order, from the model's maker",
    )


# --- list


def run_list(arguments: argparse.Namespace) -> int:
    from firmware_app.model_store.choice import in_use
    from firmware_app.models import catalogue, folder, installed

    wanted = settings()
    place = folder(wanted)
    there = installed(place)
    used = set(in_use(wanted).values())
    models = [*catalogue().values(), *(m for name, m in there.items() if m.group == "own")]
    rows = [_row(model, place, used) for model in models if model.group != "training"]
    if arguments.json:
        as_json({"folder": str(place), "models": rows})
        return 0
    for kind in dict.fromkeys(row["kind"] for row in rows):
        print(f"{kind}:")
        table(
            ("name", "language", "fetched", "memory", "licence", "state", "good at"),
            [
                (
                    row["name"],
                    row["language"] or "?",
                    f"{row['bytes'] / 1e6:.0f} MB",
                    _memory(row["memory_mb"], row["memory_is"]),
                    row["licence"] or "?",
                    row["state"],
                    row["good_at"],
                )
                for row in rows
                if row["kind"] == kind
            ],
            right=frozenset({2}),
        )
        print()
    print(f"They live in {place}. Memory is measured unless it says otherwise (docs/models.md).")
    return 0


def _row(model: "Model", place: Path, used: set[str]) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "engine": model.engine,
        "language": model.language,
        "bytes": model.bytes,
        "memory_mb": model.memory,
        "memory_is": model.memory_is,
        "licence": model.licence,
        "group": model.group,
        "maker": model.maker,
        "good_at": model.good_at,
        "state": _state(model, place, in_use=model.name in used),
    }


def _state(model: "Model", place: Path, *, in_use: bool) -> str:
    from firmware_app.models import check

    try:
        check(model, place / model.name)
    except EngineError as error:
        state = "damaged" if error.code == "model-damaged" else "not installed"
        return f"{state}, chosen" if in_use else state
    return "in use" if in_use else "installed"


def _memory(mb: int, how: str) -> str:
    if not mb:
        return "?"
    return f"{mb} MB" if how == "measured" else f"{mb} MB, {how}"


# --- install, verify, remove


def run_install(arguments: argparse.Namespace) -> int:
    from firmware_app.model_store.install import install
    from firmware_app.models import folder

    if arguments.name or arguments.urls or arguments.hashes or arguments.kind:
        return _install_by_hand(arguments)
    if not arguments.names:
        raise UsageError("usage", "install takes the NAME of a model.", "See: hey-echo models list")
    if len(arguments.source) > 1:
        raise UsageError("usage", "--from can be given once.", "Name one folder or address.")
    place = folder(settings())
    install(arguments.names, place, say, source="".join(arguments.source))
    print(f"In place, in {place}: {', '.join(arguments.names)}")
    return 0


def _install_by_hand(arguments: argparse.Namespace) -> int:
    from firmware_app.model_store.install import Source, engine_of, install_by_hand
    from firmware_app.models import Model, folder

    addresses = arguments.urls or arguments.source
    if (
        arguments.names
        or not (arguments.name and arguments.kind and addresses)
        or (arguments.urls and arguments.source)
        or len(addresses) != len(arguments.hashes)
    ):
        raise UsageError(
            "usage",
            "A model by hand takes --name, --kind, and for each file --url (or --from) and "
            "--sha256.",
            "See: hey-echo models install --help",
        )
    model = Model(
        name=arguments.name,
        kind=arguments.kind,
        engine=engine_of(arguments.kind, arguments.engine),
        language=arguments.language,
        licence=arguments.licence,
        group="own",
        maker=addresses[0],
    )
    sources = [
        Source(address, sha256.lower())
        for address, sha256 in zip(addresses, arguments.hashes, strict=True)
    ]
    place = folder(settings())
    install_by_hand(model, sources, place, say, nearby=bool(arguments.source))
    print(f"In place: {place / model.name}. To use it: hey-echo models use {model.name}")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """All of them, though one be damaged."""
    from firmware_app.models import folder, installed, verify

    wanted = settings()
    faults: list[EchoError] = []
    for name in arguments.names or installed(folder(wanted)):
        try:
            verify(name, wanted)
            print(f"{name}: every byte is as it should be", flush=True)
        except EchoError as error:
            faults.append(error)
            warn(f"{error.what} {error.mend}")
    return max((fault.exit_status for fault in faults), default=0)


def run_remove(arguments: argparse.Namespace) -> int:
    from firmware_app.model_store.install import remove

    freed = remove(arguments.name, settings(), packaged_too=arguments.yes)
    print(f"{arguments.name} is gone; {freed / 1e6:.0f} MB are free again.")
    return 0


# --- use


def run_use(arguments: argparse.Namespace) -> int:
    try:
        answer = asyncio.run(_use_on_service(arguments.name))
    except ServiceError as error:
        if error.code != "not-running":
            raise
        return _use_without_service(arguments.name)
    print(f"Echo uses {answer['using']} now; the conversation goes on.")
    if answer["not_kept"]:
        warn(f"It is not kept for the next start: {answer['not_kept']}")
    _tell_what_covers_it(arguments.name)
    return 0


async def _use_on_service(name: str) -> dict[str, Any]:
    from firmware_app.control.stream import stream

    async with aclosing(stream(runtime(), "models.use", name=name)) as answers:
        async for answer in answers:
            if "result" in answer:
                result: dict[str, Any] = answer["result"]
                return result
            say(answer["event"]["text"])
    raise AssertionError("a call ends with a result or an error")


def _use_without_service(name: str) -> int:
    """Try it here, and write the setting in the service's stead."""
    from typing import cast

    from firmware_app.control.lock import service_lock
    from firmware_app.model_store.choice import changed, changes_for
    from firmware_app.settings_change import set_changed
    from firmware_app.switch import Part, load_and_try

    wanted = settings()
    changes = changes_for(name, wanted)
    part = cast("Part", changes[0][0].partition(".")[0])

    async def trial() -> str:
        candidate = await load_and_try(part, changed(wanted, changes))
        await candidate.close()
        return f"{candidate.name} {candidate.did}"

    with service_lock(runtime()):
        say(f"loading {name}")
        say(asyncio.run(trial()))
        for setting, value in changes:
            set_changed(setting, value)
    print(f"Echo will use {name} from its next start.")
    _tell_what_covers_it(name)
    return 0


def _tell_what_covers_it(name: str) -> None:
    """A variable of the environment counts more than what was just written."""
    from firmware_app.model_store.choice import changes_for
    from firmware_app.settings_layers import Layer, load

    loaded = load()
    for setting in dict.fromkeys(setting for setting, _ in changes_for(name, loaded.settings)):
        origin = loaded.origin[setting]
        if origin.layer is Layer.ENVIRONMENT:
            warn(f"{origin.where} says otherwise and counts more; to end that: unset it")
