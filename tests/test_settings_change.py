"""Settings are changed by command, voice or page; what the owner wrote around them stays."""

import math
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from firmware_app.errors import EchoError, SettingsError, StorageError
from firmware_app.settings_change import (
    set_changed,
    set_in_config,
    unset_all_changed,
    unset_changed,
    unset_in_config,
)
from firmware_app.settings_checks import KNOWN, Known, Value
from firmware_app.settings_files import write_value
from firmware_app.settings_layers import Layer, load, value_of

WRITTEN_BY_HAND = """\
# Kitchen box. Do not touch the microphone!
language = "en"  # for now

[wake]   # how it wakes
# The television is near, so:
sensitivity = 'low' # was "normal"

[audio]
microphone = "hw:CARD=Mic"
"""


class Box:
    def __init__(self, folder: Path) -> None:
        self.config = folder / "config.toml"
        self.state = folder / "state"
        self.changed = self.state / "settings.toml"
        self.environ = {
            "HEY_ECHO_CONFIG": str(self.config),
            "HEY_ECHO_PATHS_STATE": str(self.state),
        }


@pytest.fixture
def box(tmp_path: Path) -> Box:
    made = Box(tmp_path)
    made.config.write_text(WRITTEN_BY_HAND)
    return made


def value_for(setting: Known) -> st.SearchStrategy[Value]:
    if setting.choices:
        return st.sampled_from(setting.choices)
    if setting.kind is bool:
        return st.booleans()
    if setting.kind is str:
        return st.text().filter(str.isprintable)
    assert setting.at_least is not None
    assert setting.at_most is not None
    if setting.kind is int:
        return st.integers(math.ceil(setting.at_least), math.floor(setting.at_most))
    return st.floats(setting.at_least, setting.at_most)


# Settings that contradict no other, whatever they are.
FREE = [
    setting
    for setting in KNOWN.values()
    if not setting.name.startswith(("endpoint.", "audio.microphone_channel", "paths."))
    and setting.name not in ("model.backend", "lights.night_hours")
]


class TestTheOwnersFile:
    @hypothesis_settings(
        max_examples=30,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.data())
    def test_what_is_set_is_what_is_got_and_unset_goes_back(
        self, tmp_path: Path, data: st.DataObject
    ) -> None:
        box = Box(tmp_path)
        box.config.write_text(WRITTEN_BY_HAND)
        changes = data.draw(
            st.dictionaries(st.sampled_from([s.name for s in FREE]), st.none(), max_size=6)
        )
        wanted = {name: data.draw(value_for(KNOWN[name]), label=name) for name in changes}
        for name, value in wanted.items():
            set_in_config(name, str(value), box.environ)
        loaded = load(box.environ)
        for name, value in wanted.items():
            got = value_of(loaded.settings, name)
            assert type(got) is KNOWN[name].kind
            assert got == value
            assert loaded.origin[name].layer is Layer.CONFIG
        text = box.config.read_text()
        for comment in ("# Kitchen box.", "# how it wakes", "# The television is near, so:"):
            assert comment in text
        for name in wanted:
            assert unset_in_config(name, box.environ)
        after = load(box.environ)
        assert {name: after.origin[name].layer for name in wanted} == dict.fromkeys(
            wanted, Layer.DEFAULT
        )

    def test_only_the_line_in_question_changes(self, box: Box) -> None:
        set_in_config("wake.sensitivity", "high", box.environ)
        assert box.config.read_text() == WRITTEN_BY_HAND.replace("'low'", '"high"')

    def test_a_top_level_setting_stays_above_the_sections(self, box: Box) -> None:
        box.config.write_text("[wake]\nsensitivity = 'low'\n")
        set_in_config("language", "es", box.environ)
        assert load(box.environ).settings.language == "es"

    @pytest.mark.parametrize(
        "text",
        [
            "wake.sensitivity = 'low'\n",
            "wake = { sensitivity = 'low' } # inline\n",
            "[wake]\nsensitivity = 'low'",
            "\r\n[wake]\r\nsensitivity = 'low'\r\n",
            "\ufeff[wake]\nsensitivity = 'low'\n",
            "",
        ],
    )
    def test_every_way_of_writing_it_can_be_changed(self, box: Box, text: str) -> None:
        box.config.write_text(text, newline="")
        set_in_config("wake.sensitivity", "high", box.environ)
        set_in_config("wake.threshold", "0.5", box.environ)
        wake = load(box.environ).settings.wake
        assert (wake.sensitivity, wake.threshold) == ("high", 0.5)

    def test_a_missing_file_is_made(self, tmp_path: Path) -> None:
        box = Box(tmp_path / "new")
        set_in_config("voice.volume", "30", box.environ)
        assert box.config.read_text() == "[voice]\nvolume = 30\n"
        assert stat.S_IMODE(box.config.stat().st_mode) == 0o644

    def test_mode_owner_and_link_are_kept(self, box: Box, tmp_path: Path) -> None:
        real = tmp_path / "boot" / "echo.toml"
        real.parent.mkdir()
        box.config.rename(real)
        box.config.symlink_to(real)
        real.chmod(0o664)
        if os.geteuid() == 0:
            os.chown(real, 65534, 65534)
        before = real.stat()
        set_in_config("voice.volume", "30", box.environ)
        after = real.stat()
        assert box.config.is_symlink()
        assert (after.st_mode, after.st_uid, after.st_gid) == (
            before.st_mode,
            before.st_uid,
            before.st_gid,
        )
        assert [path.name for path in real.parent.iterdir()] == ["echo.toml"]

    def test_a_file_with_a_secret_is_closed_to_others(self, box: Box) -> None:
        box.config.chmod(0o644)
        set_in_config("model.api_key", "sk-1", box.environ)
        assert stat.S_IMODE(box.config.stat().st_mode) == 0o640

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("wake.sensitivty", "low"),
            ("voice.volume", "200"),
            ("endpoint.shortest_ms", "1000"),  # longer than the longest
            ("model.backend", "openai"),  # without a server
        ],
    )
    def test_what_is_refused_leaves_the_file_alone(self, box: Box, name: str, text: str) -> None:
        with pytest.raises(SettingsError):
            set_in_config(name, text, box.environ)
        assert box.config.read_text() == WRITTEN_BY_HAND

    def test_what_belongs_together_can_be_set_one_after_the_other(self, box: Box) -> None:
        for name, text in (
            ("model.url", "http://192.168.1.20:8080/v1"),
            ("model.send_words_to", "192.168.1.20"),
            ("model.backend", "openai"),
        ):
            set_in_config(name, text, box.environ)
        with pytest.raises(SettingsError, match=r"model\.url"):
            unset_in_config("model.url", box.environ)
        assert load(box.environ).settings.model.backend == "openai"
        assert unset_in_config("model.backend", box.environ)
        assert unset_in_config("model.url", box.environ)

    def test_a_fault_can_be_mended_by_the_command_that_names_it(self, box: Box) -> None:
        box.config.write_text("[voice]\nvolume = 200\nvolum = 3\n")
        with pytest.raises(SettingsError, match="volum"):
            set_in_config("voice.volume", "30", box.environ)  # another fault is left
        assert unset_in_config("voice.volum", box.environ)
        set_in_config("voice.volume", "30", box.environ)
        assert load(box.environ).settings.voice.volume == 30

    def test_unsetting_what_is_not_set_says_so(self, box: Box) -> None:
        assert unset_in_config("voice.volume", box.environ) is False
        with pytest.raises(SettingsError, match=r"voice\.volume"):
            unset_in_config("voice.volum", box.environ)

    def test_a_file_that_is_not_toml_is_not_written(self, box: Box) -> None:
        box.config.write_text("[voice\n")
        with pytest.raises(SettingsError, match="not valid TOML"):
            set_in_config("voice.volume", "30", box.environ)
        assert box.config.read_text() == "[voice\n"

    @pytest.mark.skipif(os.geteuid() != 0, reason="another user can be played by root only")
    def test_without_permission_one_hears_of_sudo(self, box: Box, tmp_path: Path) -> None:
        for folder in [tmp_path, *tmp_path.parents][:4]:
            folder.chmod(0o755)
        os.seteuid(65534)
        try:
            with pytest.raises(StorageError, match="Run the command with sudo"):
                set_in_config("voice.volume", "30", box.environ)
        finally:
            os.seteuid(0)
        assert box.config.read_text() == WRITTEN_BY_HAND

    def test_a_full_card_leaves_the_old_file(
        self, box: Box, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_space(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", no_space)
        with pytest.raises(StorageError, match="no space left"):
            set_in_config("voice.volume", "30", box.environ)
        assert box.config.read_text() == WRITTEN_BY_HAND
        assert [path.name for path in box.config.parent.iterdir()] == ["config.toml"]


class TestWhatEchoChanges:
    def test_a_change_counts_more_than_the_owners_file_until_it_is_dropped(self, box: Box) -> None:
        loaded = set_changed("wake.sensitivity", "high", box.environ)
        assert loaded == load(box.environ)
        assert loaded.settings.wake.sensitivity == "high"
        assert loaded.origin["wake.sensitivity"].where == str(box.changed)
        assert box.config.read_text() == WRITTEN_BY_HAND
        assert stat.S_IMODE(box.changed.stat().st_mode) & 0o007 == 0
        assert stat.S_IMODE(box.state.stat().st_mode) == 0o700
        assert unset_changed("wake.sensitivity", box.environ)
        assert load(box.environ).settings.wake.sensitivity == "low"
        assert unset_changed("wake.sensitivity", box.environ) is False

    def test_only_settings_marked_changeable_are_changed(self, box: Box) -> None:
        with pytest.raises(SettingsError, match=r"sudo hey-echo config set audio\.microphone"):
            set_changed("audio.microphone", "hw:2,0", box.environ)
        assert not box.changed.exists()

    @pytest.mark.parametrize("value", [101, "50", True, None])
    def test_a_wrong_value_is_refused(self, box: Box, value: Value) -> None:
        with pytest.raises(SettingsError):
            set_changed("voice.volume", value, box.environ)
        assert not box.changed.exists()

    def test_a_bad_value_there_is_mended_by_setting_or_unsetting_it(self, box: Box) -> None:
        box.state.mkdir()
        box.changed.write_text("[voice]\nvolume = 900\nvolum = 1\n")
        assert len(load(box.environ).problems) == 2
        assert unset_changed("voice.volum", box.environ)
        assert len(load(box.environ).problems) == 1
        set_changed("voice.volume", 40, box.environ)
        assert load(box.environ).problems == ()

    def test_a_damaged_file_is_set_aside_by_the_next_change(self, box: Box) -> None:
        box.state.mkdir()
        box.changed.write_bytes(b"\x00" * 512)
        set_changed("voice.volume", 40, box.environ)
        loaded = load(box.environ)
        assert loaded.settings.voice.volume == 40
        assert loaded.problems == ()
        assert (box.state / "settings.toml.broken").read_bytes() == b"\x00" * 512

    def test_everything_can_be_dropped_at_once_readable_or_not(self, box: Box) -> None:
        assert unset_all_changed(box.environ) is None
        set_changed("voice.volume", 40, box.environ)
        assert unset_all_changed(box.environ)
        assert load(box.environ).settings.voice.volume == 80
        box.changed.write_bytes(b"\xff")
        assert unset_all_changed(box.environ)
        assert load(box.environ).problems == ()


def test_what_the_comment_editor_would_garble_is_not_written(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tomlkit

    monkeypatch.setattr(tomlkit.TOMLDocument, "as_string", lambda _: "language = 'xx'\n")
    with pytest.raises(EchoError, match="with an editor"):
        write_value(box.config, "voice.volume", 3)
    assert box.config.read_text() == WRITTEN_BY_HAND
