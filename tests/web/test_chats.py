"""The history through the API: lists, threads, search, renaming, deleting, exports, pictures."""

import json
from typing import Any

import pytest

from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.web.chats import safe_name
from tests.web.phone import Phone
from tests.web.stand import OWNER, PNG, Stand


async def listed(phone: Phone, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await phone.get(f"/api/chats{query}")).body["chats"]
    return found


async def named(phone: Phone, title: str) -> str:
    return next(str(c["uuid"]) for c in await listed(phone) if c["title"] == title)


async def test_the_list_is_newest_first_and_says_what_each_is(phone: Phone) -> None:
    chats = await listed(phone)
    assert [c["title"] for c in chats] == [
        "Sums, many of them",
        "build",
        "A letter to the landlord",
        "How many people live in Lima?",
    ]
    letter = chats[2]
    assert letter["continued"]
    assert letter["entries"] == 5
    assert letter["first_words"].startswith("Dear Ms. Moreno")
    assert not chats[3]["continued"]
    assert [c["title"] for c in await listed(phone, "?kind=pane")] == ["build"]


async def test_older_ones_are_loaded_from_a_number_on(phone: Phone) -> None:
    first = (await phone.get("/api/chats?limit=3")).body
    assert first["more"]
    rest = (await phone.get(f"/api/chats?limit=3&before={first['chats'][-1]['number']}")).body
    assert [c["title"] for c in rest["chats"]] == ["How many people live in Lima?"]
    assert not rest["more"]


async def test_the_latest_have_what_was_talked_in_last_and_no_panes(
    phone: Phone, there: Stand
) -> None:
    older = await named(phone, "How many people live in Lima?")
    number = (await there.store.carry_on(OWNER, older)).conversation.next_entry
    await there.store.write(NewEntry(older, number, "user", ("And in Cusco?",)))
    await there.store.end(older)
    chats = (await phone.get("/api/chats/latest?limit=2")).body["chats"]
    assert [c["title"] for c in chats] == ["How many people live in Lima?", "Sums, many of them"]
    everything = (await phone.get("/api/chats/latest")).body["chats"]
    assert "pane" not in {c["kind"] for c in everything}


async def test_a_thread_has_its_entries_with_status_mode_and_confidence(phone: Phone) -> None:
    thread = await phone.get(f"/api/chats/{await named(phone, 'How many people live in Lima?')}")
    entries = thread.body["entries"]
    assert [e["number"] for e in entries] == [1, 2, 3, 4]
    assert entries[0]["input_mode"] == "voice"
    assert entries[2]["confidence"] == 0.55
    assert entries[3]["status"] == "interrupted"
    assert thread.body["chat"]["cost"] is None
    assert not thread.body["more"]


async def test_a_long_thread_comes_page_by_page(phone: Phone) -> None:
    uuid = await named(phone, "Sums, many of them")
    newest = (await phone.get(f"/api/chats/{uuid}?limit=50")).body
    assert newest["more"]
    assert newest["entries"][-1]["number"] == 120
    before = newest["entries"][0]["number"]
    older = (await phone.get(f"/api/chats/{uuid}?limit=100&before={before}")).body
    assert [e["number"] for e in older["entries"]] == list(range(1, before))
    assert not older["more"]


async def test_search_shows_where_words_were_found(phone: Phone) -> None:
    (result,) = (await phone.post("/api/chats/search", {"q": "landlord"})).body["results"]
    assert result["title"] == "A letter to the landlord"
    assert ["landlord", True] in result["snippet"]
    assert (await phone.post("/api/chats/search", {"q": "keys"})).body["results"] == []
    nothing = await phone.post("/api/chats/search", {"q": "?!"})
    assert (nothing.status, nothing.code) == (422, "nothing-asked")


async def test_renaming(phone: Phone) -> None:
    uuid = await named(phone, "build")
    assert (await phone.ask("PATCH", f"/api/chats/{uuid}", {"title": " Nightly \n build "})).status
    assert await named(phone, "Nightly build") == uuid
    assert (await phone.ask("PATCH", f"/api/chats/{uuid}", {"title": " "})).status == 422


async def test_deleting_says_which_copies_remain(there: Stand, phone: Phone) -> None:
    uuid = await named(phone, "A letter to the landlord")
    path, _ = await there.store.back_up()
    deleted = (await phone.ask("DELETE", f"/api/chats/{uuid}")).body
    assert deleted == {"copies": [path.name], "erased": True}
    assert (await phone.get(f"/api/chats/{uuid}")).status == 404
    assert (await phone.ask("DELETE", f"/api/chats/{uuid}")).status == 404
    held = b"".join(file.read_bytes() for file in there.folder.glob("history.db*"))
    assert b"Moreno" not in held


@pytest.mark.parametrize(
    ("form", "media_type"),
    [("md", "text/markdown"), ("txt", "text/plain"), ("json", "application/json")],
)
async def test_an_export_is_a_file_that_runs_nowhere(
    phone: Phone, form: str, media_type: str
) -> None:
    uuid = await named(phone, "A letter to the landlord")
    file = await phone.get(f"/api/chats/{uuid}/export?format={form}")
    assert file.status == 200
    assert file.headers["Content-Type"] == f"{media_type}; charset=utf-8"
    assert (
        file.headers["Content-Disposition"]
        == f'attachment; filename="echo-a-letter-to-the-landlord.{form}"'
    )
    assert "sandbox" in file.headers["Content-Security-Policy"]
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    text = json.dumps(file.body) if form == "json" else file.body.decode()
    assert "Dear Ms. Moreno" in text


async def test_a_preview_says_what_goes_out(phone: Phone) -> None:
    uuid = await named(phone, "A letter to the landlord")
    preview = (await phone.get(f"/api/chats/{uuid}/export/preview")).body
    assert (preview["entries"], preview["images"]) == (5, 1)
    assert preview["characters"] > 100
    assert preview["first"] <= preview["last"]


async def test_a_picture_is_shown_and_does_nothing_else(phone: Phone) -> None:
    uuid = await named(phone, "A letter to the landlord")
    entries = (await phone.get(f"/api/chats/{uuid}")).body["entries"]
    assert entries[0]["images"] == [1]
    picture = await phone.get(f"/api/chats/{uuid}/entries/1/images/1")
    assert picture.body == PNG
    assert picture.headers["Content-Type"] == "image/png"
    assert "sandbox" in picture.headers["Content-Security-Policy"]
    assert (await phone.get(f"/api/chats/{uuid}/entries/1/images/0")).status == 404
    assert (await phone.get(f"/api/chats/{uuid}/entries/x/images/1")).status == 404


async def test_a_drawing_with_scripts_in_it_is_refused(there: Stand, phone: Phone) -> None:
    new = NewConversation("chat", "home", "drawing")
    await there.store.start(new)
    drawing = Image("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "x.svg")
    await there.store.write(NewEntry(new.uuid, 1, "user", (drawing,)))
    refused = await phone.get(f"/api/chats/{new.uuid}/entries/1/images/0")
    assert (refused.status, refused.code) == (415, "image-refused")


async def test_what_is_anothers_looks_like_what_does_not_exist(
    there: Stand, phone: Phone, bob: Phone
) -> None:
    uuid = await named(phone, "A letter to the landlord")
    missing = "00000000-0000-4000-8000-000000000000"
    assert [c["title"] for c in await listed(bob)] == ["Where are my keys?"]
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "mine"}),
        ("DELETE", "", None),
        ("GET", "/export?format=md", None),
        ("GET", "/export/preview", None),
        ("GET", "/entries/1/images/1", None),
    ):
        foreign = await bob.ask(method, f"/api/chats/{uuid}{path}", body)
        none = await bob.ask(method, f"/api/chats/{missing}{path}", body)
        assert foreign.status == none.status == 404
        assert foreign.body == none.body
    assert (await bob.post("/api/chats/search", {"q": "landlord"})).body["results"] == []
    assert (await bob.post("/api/voice/sessions", {"chat": uuid})).status == 404
    assert await named(phone, "A letter to the landlord") == uuid


def test_names_of_files_are_safe_on_every_system() -> None:
    assert safe_name("Wie hoch ist der Eiffelturm? ÄÖ") == "echo-wie-hoch-ist-der-eiffelturm-ao"
    assert safe_name('../../etc/passwd"; rm\r\n') == "echo-etc-passwd-rm"
    assert safe_name("日本") == "echo-chat"
    assert len(safe_name("x" * 500)) <= 45
