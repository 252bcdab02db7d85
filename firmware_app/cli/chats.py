"""hey-echo chats: read, find, rename, delete, export and carry on what was said."""

import argparse
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from firmware_app.cli.history import Ask, confirm, reach
from firmware_app.cli.output import as_json, table

KINDS = ("voice", "chat", "pane")
_SHORT = 8  # characters of a uuid that people type


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    chats = commands.add_parser("chats", help="what was said: read, find, delete, export, carry on")
    verbs = chats.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(name: str, run: Any, doc: str, *, one: bool = False) -> argparse.ArgumentParser:  # noqa: ANN401
        parser: argparse.ArgumentParser = verbs.add_parser(name, help=doc, description=doc)
        parser.set_defaults(run=run)
        parser.add_argument("--json", action="store_true", help="for programs")
        if one:
            parser.add_argument("uuid", metavar="ID", help="the conversation, or how its ID begins")
        return parser

    chats_list = verb("list", run_list, "conversations, newest first")
    chats_list.add_argument("--kind", choices=KINDS)
    _paging(chats_list)
    show = verb("show", run_show, "what was said in a conversation, its newest part", one=True)
    _paging(show)
    search = verb("search", run_search, 'find words, beginnings (wea*) or phrases ("...")')
    search.add_argument("words", metavar="WORDS", nargs="+")
    search.add_argument("--kind", choices=KINDS)
    rename = verb("rename", run_rename, "give a conversation another title", one=True)
    rename.add_argument("title", metavar="TITLE", nargs="+")
    delete = verb("delete", run_delete, "delete for good; copies that were taken away stay")
    what = delete.add_mutually_exclusive_group(required=True)
    what.add_argument("uuid", metavar="ID", nargs="?", help="a conversation")
    what.add_argument("--day", metavar="DAY", help="what was said on a day: 2026-11-30, today")
    what.add_argument("--everything", action="store_true", help="all conversations")
    delete.add_argument("--exchange", action="store_true", help="only the last exchange of ID")
    delete.add_argument("--copies", action="store_true", help="and the box's own copies of it")
    delete.add_argument("--yes", action="store_true", help="without asking")
    export = verb("export", run_export, "take a conversation away as a file, or all of them")
    export.add_argument("uuid", metavar="ID", nargs="?", help="one conversation")
    export.add_argument("--all", action="store_true", help="all conversations")
    export.add_argument("--format", choices=("md", "txt", "json"), default="md")
    export.add_argument("--out", metavar="FILE", type=Path, help="instead of printing it")
    export.add_argument("--no-images", action="store_true", help="mark images as left out")
    export.add_argument("--yes", action="store_true", help="without asking")
    verb("continue", run_continue, "carry a conversation on, by voice or typing", one=True)


def run_list(arguments: argparse.Namespace) -> int:
    answer = reach(
        lambda ask: ask(
            "chats.list",
            kind=arguments.kind,
            before=arguments.before,
            limit=arguments.limit,
        )
    )
    if arguments.json:
        as_json(answer)
        return 0
    if not answer["conversations"]:
        print("Nothing is saved here.")
        return 0
    _print_conversations(answer["conversations"])
    if answer["before"] is not None:
        print(f"Older ones: hey-echo chats list --before {answer['before']}")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    answer = reach(
        lambda ask: ask(
            "chats.show", uuid=arguments.uuid, before=arguments.before, limit=arguments.limit
        )
    )
    if arguments.json:
        as_json(answer)
        return 0
    _print_head(answer["conversation"])
    if answer["before"] is not None:
        print(f"Older: hey-echo chats show {arguments.uuid} --before {answer['before']}\n")
    for entry in answer["entries"]:
        _print_entry(entry)
    return 0


def run_search(arguments: argparse.Namespace) -> int:
    asked = " ".join(f'"{w}"' if " " in w else w for w in arguments.words)
    answer = reach(lambda ask: ask("chats.search", q=asked, kind=arguments.kind))
    if arguments.json:
        as_json(answer)
        return 0
    if not answer["hits"]:
        print("Nothing was found.")
    from firmware_app.history.search import BEGIN_MARK, END_MARK

    begin, end = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    for hit in answer["hits"]:
        snippet = hit["snippet"].replace(BEGIN_MARK, begin).replace(END_MARK, end)
        print(f"{_short(hit['conversation'])}  {_title(hit['conversation'])}")
        print(f"    {hit['number']}: {' '.join(snippet.split())}")
    return 0


def run_rename(arguments: argparse.Namespace) -> int:
    title = " ".join(arguments.title)
    answer = reach(lambda ask: ask("chats.rename", uuid=arguments.uuid, title=title))
    if arguments.json:
        as_json(answer)
    else:
        print(f"It is called {answer['title']!r} now.")
    return 0


def run_delete(arguments: argparse.Namespace) -> int:
    answer = reach(lambda ask: _delete(ask, arguments))
    if arguments.json:
        as_json(answer)
        return 0
    trimmed = sum(map(len, answer["entries"].values()))
    gone = [_count(len(answer["conversations"]), "conversation")] * bool(answer["conversations"])
    gone += [_count(trimmed, "entry", "entries")] * bool(trimmed)
    if not gone:
        print("There was nothing to delete.")
        return 0
    print(f"Deleted: {' and '.join(gone)}.")
    if not answer["erased"]:
        print("Its bytes are still being erased; that goes on by itself.")
    for copy in answer["copies"]:
        print(f"{'Removed' if answer['copies_removed'] else 'Still in'}: {copy['path']}")
    if answer["copies"] and not answer["copies_removed"]:
        print("Those files can be removed by hand; --copies does it while deleting.")
    print("What was exported or downloaded is not recalled, and a card keeps old blocks.")
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    if arguments.all == (arguments.uuid is not None):
        from firmware_app.errors import UsageError

        raise UsageError("usage", "export takes an ID, or --all.", "Name one conversation.")
    reach(lambda ask: _export(ask, arguments))
    return 0


def run_continue(arguments: argparse.Namespace) -> int:
    answer = reach(lambda ask: _carry_on(ask, arguments.uuid))
    if arguments.json:
        as_json(answer)
    else:
        print(f"Continuing {_title(answer)!r}.")
        if answer["saved"] != "saved":
            print(f"What is said now: {answer['saved']}.")
    return 0


async def _carry_on(ask: Ask, beginning: str) -> dict[str, Any]:
    found = await ask("chats.show", uuid=beginning, limit=1)
    return await ask("chats.continue", uuid=found["conversation"]["uuid"])


async def _delete(ask: Ask, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.everything:
        counted = await ask("chats.count")
        what = f"all {_count(counted['conversations'], 'conversation')}"
    elif arguments.day:
        what = f"what was said on {arguments.day}"
    else:
        found = await ask("chats.show", uuid=arguments.uuid, limit=1)
        part = "the last exchange of " if arguments.exchange else ""
        what = f"{part}{_title(found['conversation'])!r}"
    confirm(f"Delete {what} for good?", yes=arguments.yes)
    return await ask(
        "chats.delete",
        uuid=arguments.uuid,
        day=arguments.day,
        everything=arguments.everything,
        exchange=arguments.exchange,
        copies=arguments.copies,
    )


async def _export(ask: Ask, arguments: argparse.Namespace) -> None:
    counted = await ask("chats.count", uuid=arguments.uuid)
    going = (
        f"{_count(counted['conversations'], 'conversation')},"
        f" {_count(counted['entries'], 'entry', 'entries')},"
        f" {_count(counted['images'], 'image')}"
    )
    print(f"Going out: {going}.", file=sys.stderr)
    if arguments.out or sys.stdout.isatty():
        confirm("Export them?", yes=arguments.yes)
    form = "json" if arguments.json else arguments.format
    if arguments.out is None:
        async for piece in _documents(ask, arguments, form):
            sys.stdout.write(piece)
        return
    with arguments.out.open("w", encoding="utf-8") as file:
        async for piece in _documents(ask, arguments, form):
            file.write(piece)


async def _documents(ask: Ask, arguments: argparse.Namespace, form: Any) -> AsyncIterator[str]:  # noqa: ANN401
    from firmware_app.history.commands import conversation_of_json, entry_of_json
    from firmware_app.history.export import document
    from firmware_app.history.records import Entry, Image

    async def one(head: dict[str, Any]) -> AsyncIterator[str]:
        uuid = head["uuid"]

        async def entries() -> AsyncIterator[Entry]:
            after = 0
            while some := (await ask("chats.entries", uuid=uuid, after=after))["entries"]:
                for entry in some:
                    yield entry_of_json(entry)
                after = some[-1]["number"]

        async def image_of(number: int, part: int) -> Image:
            from base64 import b64decode

            found = await ask("chats.image", uuid=uuid, number=number, part=part)
            return Image(found["mime"], b64decode(found["data"]), found["name"])

        pictures = None if arguments.no_images else image_of
        async for piece in document(form, conversation_of_json(head), entries(), pictures):
            yield piece

    if arguments.uuid is not None:
        found = await ask("chats.show", uuid=arguments.uuid, limit=1)
        async for piece in one(found["conversation"]):
            yield piece
        return
    before: int | None = None
    first = True
    while True:
        some = await ask("chats.list", before=before)
        for head in some["conversations"]:
            yield {"json": "[" if first else ","}.get(form, "" if first else "\n")
            first = False
            async for piece in one(head):
                yield piece
        before = some["before"]
        if before is None:
            break
    if form == "json":
        yield "[]\n" if first else "]\n"


def _paging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many [20]")
    parser.add_argument("--before", type=int, metavar="NUMBER", help="load older")


def _print_conversations(conversations: list[dict[str, Any]]) -> None:
    from firmware_app.history.export import time_text

    width = shutil.get_terminal_size().columns
    wide = width >= 60  # a phone has about 40 columns
    rows = []
    for c in conversations:
        mark = "!" if c["incomplete"] else {"active": "…", "interrupted": "~"}.get(c["state"], "")
        last = time_text(c["updated"])
        row = [_short(c), last, c["kind"]] if wide else [_short(c), last[-len("11-30 14:54") :]]
        room = max(12, width - sum(len(cell) + 2 for cell in row) - 3)
        title = _title(c)
        row += [mark, title if len(title) <= room else title[: room - 1] + "…"]
        rows.append(row)
    heads = ["id", "last", "kind", "", "title"] if wide else ["id", "last", "", "title"]
    table(heads, rows, right=frozenset())


def _print_head(conversation: dict[str, Any]) -> None:
    from firmware_app.history.export import time_text
    from firmware_app.history.usage import Cost

    c = conversation
    print(f"{_title(c)}\n{c['kind']}, begun {time_text(c['created'])}, {c['state']}")
    if c["incomplete"]:
        print(f"Incomplete. {c['missing']}".rstrip())
    if c["usage"]:
        print(f"Cost: {Cost(**c['cost'])}")
    print()


def _print_entry(entry: dict[str, Any]) -> None:
    from firmware_app.history.export import SPEAKERS

    status = entry["metadata"].get("status", "complete")
    said = f" ({status})" if status != "complete" else ""
    text = "\n".join(
        part if isinstance(part, str) else f"[{part['name'] or 'image'}, {part['mime']}]"
        for part in entry["parts"]
    )
    print(f"{entry['number']:>4}  {SPEAKERS[entry['kind']]}{said}: {text}")


def _short(conversation: dict[str, Any]) -> str:
    return str(conversation["uuid"])[:_SHORT]


def _title(conversation: dict[str, Any]) -> str:
    return str(conversation["title"]) or "(untitled)"


def _count(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"
