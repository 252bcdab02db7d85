"""hey-echo config: what the owner sees and does over SSH."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Box
from tests.commands import Run


def test_show_names_value_layer_and_meaning(
    box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.config.write_text("[voice]\nvolume = 30\n")
    box.state.mkdir()
    box.changed.write_text("[wake]\nsensitivity = 'low'\n")
    monkeypatch.setenv("HEY_ECHO_LANGUAGE", "es")
    status, out, err = hey_echo("config", "show")
    assert (status, err) == (0, "")
    table, _, where = out.partition("\n\n")
    assert where == "Words stay on this device.\n"
    lines = {line.split()[0]: line for line in table.splitlines()}
    assert lines["voice.volume"].split()[1:3] == ["30", str(box.config)]
    assert lines["wake.sensitivity"].split()[1:3] == ["low", str(box.changed)]
    assert lines["language"].split()[1:3] == ["es", "HEY_ECHO_LANGUAGE"]
    assert lines["voice.speed"].split()[1:3] == ["1.0", "default"]
    assert "volume, percent (a whole number from 0 to 100)" in lines["voice.volume"]


def test_show_as_json_is_whole(box: Box, hey_echo: Run) -> None:
    status, out, _ = hey_echo("config", "show", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert status == 0
    assert rows["dialogue.follow_up"]["value"] is True
    assert rows["voice.volume"]["layer"] == "default"
    assert rows["voice.volume"]["changeable"] is True


def test_a_secret_is_never_printed(box: Box, hey_echo: Run) -> None:
    said = [hey_echo("config", "set", "model.api_key", "sk-1")]
    said += [hey_echo("config", "show"), hey_echo("config", "show", "--json")]
    said += [hey_echo("config", "get", "model.api_key")]
    assert "sk-1" in box.config.read_text()
    assert "sk-1" not in str(said)
    assert said[-1] == (0, "(set)\n", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [("language", "en"), ("dialogue.follow_up", "true"), ("voice.speed", "1.0"), ("model.url", "")],
)
def test_get_prints_the_value_alone(box: Box, hey_echo: Run, name: str, value: str) -> None:
    assert hey_echo("config", "get", name) == (0, f"{value}\n", "")


def test_what_get_prints_set_takes(box: Box, hey_echo: Run) -> None:
    for row in json.loads(hey_echo("config", "show", "--json")[1]):
        _, value, _ = hey_echo("config", "get", row["name"])
        status, _, err = hey_echo("config", "set", row["name"], value.rstrip("\n"))
        assert status == 0, err


def test_a_typo_gets_one_sentence_and_the_right_name(box: Box, hey_echo: Run) -> None:
    for words in (("get", "voice.volum"), ("set", "voice.volum", "3"), ("unset", "voice.volum")):
        status, out, err = hey_echo("config", *words)
        assert (status, out) == (78, "")
        assert err == (
            "hey-echo: There is no setting voice.volum. Did you mean voice.volume? "
            "[setting-unknown]\n"
        )


def test_a_fault_in_the_file_is_named_with_its_line(box: Box, hey_echo: Run) -> None:
    box.config.write_text("[voice]\nvolume = 101\n")
    status, out, err = hey_echo("config", "show")
    assert (status, out) == (78, "")
    assert err == (
        f"hey-echo: {box.config}:2: voice.volume cannot be 101. "
        "It must be a whole number from 0 to 100. [setting-invalid]\n"
    )


def test_what_was_left_out_is_told_each_time(box: Box, hey_echo: Run) -> None:
    box.state.mkdir()
    box.changed.write_text("[voice]\nvolume = 900\n")
    status, out, err = hey_echo("config", "get", "voice.volume")
    assert (status, out) == (0, "80\n")
    assert "voice.volume cannot be 900" in err


class TestWithoutAService:
    def test_set_writes_the_owners_file_and_keeps_its_comments(
        self, box: Box, hey_echo: Run
    ) -> None:
        status, out, err = hey_echo("config", "set", "voice.volume", "30")
        assert (status, err) == (0, "")
        assert out == f"voice.volume is 30 in {box.config}.\n"
        assert box.config.read_text() == "# mine\n\n[voice]\nvolume = 30\n"
        assert not box.changed.exists()

    def test_what_counts_more_is_told(
        self, box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box.state.mkdir()
        box.changed.write_text("[voice]\nvolume = 50\n")
        _, _, err = hey_echo("config", "set", "voice.volume", "30")
        assert f"{box.changed} says otherwise" in err
        assert "hey-echo config unset voice.volume" in err
        monkeypatch.setenv("HEY_ECHO_VOICE_VOLUME", "60")
        _, _, err = hey_echo("config", "set", "voice.volume", "30")
        assert "HEY_ECHO_VOICE_VOLUME says otherwise" in err

    def test_unset_drops_the_override_first_and_then_the_owners(
        self, box: Box, hey_echo: Run
    ) -> None:
        box.config.write_text("[voice]\nvolume = 30\n")
        box.state.mkdir()
        box.changed.write_text("[voice]\nvolume = 50\n")
        values = []
        for _ in range(3):
            assert hey_echo("config", "unset", "voice.volume")[0] == 0
            values.append(hey_echo("config", "get", "voice.volume")[1].strip())
        assert values == ["30", "80", "80"]
        assert hey_echo("config", "unset", "voice.volume")[1] == "voice.volume was not set.\n"

    def test_unset_all_drops_even_what_cannot_be_read(self, box: Box, hey_echo: Run) -> None:
        box.state.mkdir()
        box.changed.write_bytes(b"\xff\x00")
        assert hey_echo("config", "unset", "--all")[0] == 0
        assert hey_echo("config", "get", "voice.volume") == (0, "80\n", "")

    def test_unset_needs_to_know_what(self, box: Box, hey_echo: Run) -> None:
        assert hey_echo("config", "unset")[0] == 2
        assert hey_echo("config", "unset", "voice.volume", "--all")[0] == 2


class TestWithAService:
    def test_what_echo_may_change_is_changed_at_once(self, box: Box, hey_echo: Run) -> None:
        with box.service():
            assert hey_echo("config", "set", "voice.volume", "30") == (
                0,
                "voice.volume is 30 now.\n",
                "",
            )
            assert box.heard[-1].settings.voice.volume == 30
            assert "volume = 30" in box.changed.read_text()
            assert box.config.read_text() == "# mine\n"
            hey_echo("config", "unset", "voice.volume")
            assert box.heard[-1].settings.voice.volume == 80

    def test_what_only_the_owner_may_change_counts_from_the_next_start(
        self, box: Box, hey_echo: Run
    ) -> None:
        with box.service():
            status, out, _ = hey_echo("config", "set", "audio.microphone", "hw:2,0")
        assert status == 0
        assert 'microphone = "hw:2,0"' in box.config.read_text()
        assert "sudo systemctl restart hey-echo" in out
        assert box.heard == []

    def test_unset_reaches_the_owners_file_too(self, box: Box, hey_echo: Run) -> None:
        box.config.write_text("[voice]\nvolume = 30\n")
        with box.service():
            status, out, _ = hey_echo("config", "unset", "voice.volume")
        assert (status, box.config.read_text()) == (0, "[voice]\n")
        assert "is no longer set in" in out

    def test_a_refusal_of_the_service_exits_as_one_of_the_command(
        self, box: Box, hey_echo: Run
    ) -> None:
        with box.service():
            box.config.write_text("[voice\n")  # broken after the service started
            status, _, err = hey_echo("config", "set", "voice.volume", "30")
        # Its socket is where the environment says, so it is still found.
        assert status == 78
        assert "not valid TOML" in err


class TestValidate:
    def test_a_sound_file_says_so(self, box: Box, hey_echo: Run) -> None:
        assert hey_echo("config", "validate") == (0, f"{box.config} is valid.\n", "")

    def test_all_faults_are_listed_at_once(self, box: Box, hey_echo: Run) -> None:
        box.config.write_text("[voice]\nvolume = 101\n[wake]\nsensitivty = 'low'\n")
        status, out, err = hey_echo("config", "validate")
        assert (status, out) == (78, "")
        assert [line.partition(": ")[2].partition(": ")[0] for line in err.splitlines()] == [
            f"{box.config}:2",
            f"{box.config}:4",
        ]

    def test_the_other_layers_are_checked_with_it(
        self, box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box.state.mkdir()
        box.changed.write_text("[voice]\nvolume = 101\n")
        assert hey_echo("config", "validate")[0] == 78
        box.changed.unlink()
        monkeypatch.setenv("HEY_ECHO_VOICE_VOLUM", "3")
        assert hey_echo("config", "validate")[0] == 78

    @pytest.mark.parametrize(
        ("text", "status"),
        [("[voice]\nvolume = 3\n", 0), ("[endpoint]\nshortest_ms = 1500\n", 78), ("x", 78)],
    )
    def test_another_file_can_be_checked_before_it_is_put_in_place(
        self, box: Box, hey_echo: Run, tmp_path: Path, text: str, status: int
    ) -> None:
        box.config.write_text("broken")
        other = tmp_path / "new.toml"
        other.write_text(text)
        assert hey_echo("config", "validate", str(other))[0] == status

    def test_a_file_that_is_not_there_is_named(self, box: Box, hey_echo: Run) -> None:
        status, _, err = hey_echo("config", "validate", "/nowhere.toml")
        assert (status, err) == (
            78,
            "hey-echo: /nowhere.toml does not exist. Check the name, or make the file.\n",
        )


def test_path_is_for_an_editor(box: Box, hey_echo: Run) -> None:
    assert hey_echo("config", "path") == (0, f"{box.config}\n", "")
