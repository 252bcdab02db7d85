"""Four layers, checked alike; each fault named with its place."""

import os
from pathlib import Path

import pytest

from firmware_app.errors import SettingsError
from firmware_app.folders import data_dir, runtime_dir, state_dir
from firmware_app.settings import PathSettings, Settings
from firmware_app.settings_layers import Layer, Origin, load


class Box:
    """A config file, a state folder and an environment of one's own."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config.toml"
        self.changed = folder / "state" / "settings.toml"
        self.changed.parent.mkdir()
        self.config.write_text("")
        self.environ = {
            "HEY_ECHO_CONFIG": str(self.config),
            "HEY_ECHO_PATHS_STATE": str(self.changed.parent),
            "PATH": os.environ["PATH"],
        }


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def refusal(box: Box) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(box.environ)
    return caught.value


def test_nothing_set_gives_the_defaults(box: Box) -> None:
    loaded = load(box.environ)
    assert loaded.settings == Settings(paths=PathSettings(state=str(box.changed.parent)))
    assert loaded.origin["wake.sensitivity"] == Origin(Layer.DEFAULT)
    assert loaded.problems == ()


def test_each_layer_covers_the_one_below(box: Box) -> None:
    def volume() -> tuple[int, Origin]:
        loaded = load(box.environ)
        return loaded.settings.voice.volume, loaded.origin["voice.volume"]

    box.config.write_text("[voice]\nvolume = 10\n")
    assert volume() == (10, Origin(Layer.CONFIG, str(box.config)))
    box.changed.write_text("[voice]\nvolume = 20\n")
    assert volume() == (20, Origin(Layer.CHANGED, str(box.changed)))
    box.environ["HEY_ECHO_VOICE_VOLUME"] = "30"
    assert volume() == (30, Origin(Layer.ENVIRONMENT, "HEY_ECHO_VOICE_VOLUME"))


def test_top_level_settings_have_variables_too(box: Box) -> None:
    box.environ["HEY_ECHO_LANGUAGE"] = "es"
    assert load(box.environ).settings.language == "es"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# mine\n\n[wake]\nsensitivty = 'low'\n", 4, "wake.sensitivity"),
        ("[woke]\nsensitivity = 'low'\n", 1, "wake"),
        ("\nsensitivity = 'low'\n", 2, "wake.sensitivity"),
        ("wake = 3\n", 1, "[wake]"),
        ("[voice]\n\nvolume = 101\n", 3, "0 to 100"),
        ("[voice]\nvolume = true\n", 2, "0 to 100"),
        ("[voice]\nvolume = '50'\n", 2, "0 to 100"),
        ("[voice]\nspeed = nan\n", 2, "0.5 to 2"),
        ("voice = { speed = 9 }\n", 1, "0.5 to 2"),
        ("voice.speed = 9\n", 1, "0.5 to 2"),
        ("[audio]\nmicrophone = '''a\nb'''\n", 3, "one line"),
        ("[voice]\nvolume = [1,\n2]\n", 3, "0 to 100"),
        ("[voice\nvolume = 1\n", 1, "not valid TOML"),
        ("[voice]\nvolume =\n\n\n", 2, "not valid TOML"),
        ("[voice]\nvolume = 1\nvolume = 2\n", 3, "a second time"),
        ("[voice]\nengine = piper\n", 2, "quotes"),
        ("hello\n", 1, "key = value"),
    ],
)
def test_a_typo_is_refused_with_file_and_line(box: Box, text: str, line: int, says: str) -> None:
    box.config.write_text(text)
    fault = refusal(box)
    assert fault.what.startswith(f"{box.config}:{line}")
    assert says in str(fault)
    assert "\n" not in str(fault)
    assert fault.exit_status == 78


def test_line_ends_and_byte_order_marks_of_other_systems_are_read(box: Box) -> None:
    box.config.write_bytes(b"\xef\xbb\xbf[voice]\r\nvolume = 7\r\n")
    assert load(box.environ).settings.voice.volume == 7


def test_a_file_that_is_not_text_is_refused(box: Box) -> None:
    box.config.write_bytes(b"[voice]\n# caf\xe9\n")
    assert refusal(box).what.startswith(f"{box.config}:2 is not UTF-8")


def test_a_huge_file_is_refused_unread(box: Box) -> None:
    box.config.write_bytes(b"#" * 1_000_000)
    assert "larger than" in refusal(box).what


def test_deep_nesting_is_refused(box: Box) -> None:
    box.config.write_text("a = " + "[" * 20_000)
    assert "not valid TOML" in refusal(box).what


def test_a_config_file_that_was_named_must_exist(box: Box) -> None:
    box.config.unlink()
    assert refusal(box).what == f"{box.config} does not exist."
    box.config.mkdir()
    assert "is a directory" in refusal(box).what


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can be played by root only")
def test_a_file_that_may_not_be_read_is_named(box: Box, tmp_path: Path) -> None:
    box.config.chmod(0o600)
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(0o755)
    os.seteuid(65534)
    try:
        fault = refusal(box)
    finally:
        os.seteuid(0)
    assert str(fault).startswith(f"You may not read {box.config}. Run the command with sudo.")


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("HEY_ECHO_WAKE_SENSITIVTY", "low", "HEY_ECHO_WAKE_SENSITIVITY"),
        ("HEY_ECHO_VOICE_VOLUME", "loud", "HEY_ECHO_VOICE_VOLUME: voice.volume cannot be"),
        ("HEY_ECHO_", "x", "names no setting"),
    ],
)
def test_a_wrong_variable_is_refused(box: Box, variable: str, text: str, says: str) -> None:
    box.environ[variable] = text
    assert says in str(refusal(box))


def test_variables_that_are_no_settings_are_left_alone(box: Box) -> None:
    box.environ |= {"HEY_ECHO_TEST_DATA": "/x", "HEY_ECHO_TRAINING_DATA": "/y", "HEY_OTHER": "z"}
    load(box.environ)


def test_a_contradiction_is_refused(box: Box) -> None:
    box.config.write_text("[endpoint]\nshortest_ms = 1000\n")
    assert "endpoint.longest_ms" in str(refusal(box))
    box.config.write_text("[endpoint]\nshortest_ms = 1000\nlongest_ms = 1200\n")
    load(box.environ)


class TestWhatEchoWroteItself:
    """A fault in it must not stop the box, and must not pass in silence."""

    def test_a_bad_value_is_left_out_and_told(self, box: Box) -> None:
        box.config.write_text("[voice]\nvolume = 10\n")
        box.changed.write_text("[wake]\nsensitivity = 'low'\n[voice]\nvolume = 900\n")
        loaded = load(box.environ)
        assert loaded.settings.voice.volume == 10
        assert loaded.settings.wake.sensitivity == "low"
        (problem,) = loaded.problems
        assert f"{box.changed}:4: voice.volume cannot be 900" in problem.what
        assert "hey-echo config unset" in problem.mend

    def test_a_setting_that_only_the_owner_may_change_is_left_out(self, box: Box) -> None:
        box.changed.write_text("[model]\nsend_words_off_the_home_network = true\n")
        loaded = load(box.environ)
        assert loaded.settings.model.send_words_off_the_home_network is False
        assert "send_words_off_the_home_network can only be set in the config file" in str(
            loaded.problems[0]
        )

    @pytest.mark.parametrize("damage", [b"[voice", b"\x00" * 4096, b"\xff\xfe", b"a" * 1_000_000])
    def test_a_damaged_file_is_left_out_and_told(self, box: Box, damage: bytes) -> None:
        box.changed.write_bytes(damage)
        loaded = load(box.environ)
        assert set(loaded.origin.values()) <= {
            Origin(Layer.DEFAULT),
            Origin(Layer.ENVIRONMENT, "HEY_ECHO_PATHS_STATE"),
        }
        assert str(box.changed) in loaded.problems[0].what


class TestFolders:
    def test_named_folders_are_taken(self, tmp_path: Path) -> None:
        named = Settings(
            paths=PathSettings(state=str(tmp_path / "s"), data="~/d", runtime=str(tmp_path / "r"))
        )
        assert state_dir(named, {}) == tmp_path / "s"
        assert data_dir(named, {}) == Path.home() / "d"
        assert runtime_dir(named, {}) == tmp_path / "r"

    @pytest.mark.skipif(Path("/var/lib/hey-echo").is_dir(), reason="Echo is installed here")
    def test_without_an_installed_echo_they_are_the_users_own(self, tmp_path: Path) -> None:
        environ = {"XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
        assert state_dir(Settings(), environ) == tmp_path / "hey-echo"
        assert data_dir(Settings(), environ) == tmp_path / "hey-echo" / "data"
        assert runtime_dir(Settings(), environ) == tmp_path / "run" / "hey-echo"
        assert runtime_dir(Settings(), {}) == Path.home() / ".local/state/hey-echo/run"
