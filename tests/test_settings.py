"""The tree itself: everything about it that docs, checks and commands rely on."""

from typing import Any, get_args, get_origin, get_type_hints

import pytest

from firmware_app import settings
from firmware_app.errors import SettingsError
from firmware_app.settings import Settings
from firmware_app.settings_checks import KNOWN, check, check_together, find, parse
from firmware_app.settings_layers import RESERVED, build, value_of


def type_of(name: str) -> Any:  # noqa: ANN401 - a type as the tree spells it
    owner: Any = Settings
    *sections, key = name.split(".")
    for section in sections:
        owner = get_type_hints(owner)[section]
    return get_type_hints(owner)[key]


@pytest.mark.parametrize("setting", KNOWN.values(), ids=lambda s: s.name)
def test_every_setting_is_whole(setting: Any) -> None:  # noqa: ANN401
    declared = type_of(setting.name)
    if setting.choices:
        assert get_origin(declared) is not None
        assert get_args(declared) == setting.choices
    else:
        assert declared is setting.kind
    if setting.kind in (int, float):
        assert setting.at_least is not None
        assert setting.at_most is not None
    assert setting.doc
    assert "\n" not in setting.doc
    assert check(setting, setting.default) == setting.default


def test_the_defaults_agree_with_each_other() -> None:
    check_together(Settings())


def test_every_setting_has_a_variable_of_its_own() -> None:
    variables = [setting.variable for setting in KNOWN.values()]
    assert len(set(variables)) == len(variables)
    assert not set(variables) & set(RESERVED)
    assert KNOWN["wake.sensitivity"].variable == "HEY_ECHO_WAKE_SENSITIVITY"
    assert KNOWN["language"].variable == "HEY_ECHO_LANGUAGE"


def test_only_text_is_secret_and_no_secret_can_be_changed_by_voice() -> None:
    secrets = [setting for setting in KNOWN.values() if setting.secret]
    assert [setting.name for setting in secrets] == ["model.api_key"]
    assert not any(setting.changeable for setting in secrets)


def test_the_tree_is_frozen_all_the_way_down() -> None:
    with pytest.raises(AttributeError):
        Settings().wake.threshold = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("wake.sensitivty", "wake.sensitivity"),
        ("wake.Sensitivity", "wake.sensitivity"),
        ("volume", "voice.volume"),
        ("audio.volume", "voice.volume"),
        ("langage", "language"),
    ],
)
def test_a_wrong_name_hears_the_right_one(wrong: str, right: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find(wrong)
    assert wrong in caught.value.what
    assert right in caught.value.mend


def test_a_name_like_no_other_hears_where_the_list_is() -> None:
    with pytest.raises(SettingsError, match=r"hey-echo config show"):
        find("qqqqqqqqqq")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("wake.second_stage", "off", False),
        ("wake.second_stage", " Yes ", True),
        ("voice.volume", "+30", 30),
        ("voice.speed", "1", 1.0),
        ("voice.speed", "1.25e0", 1.25),
        ("wake.sensitivity", "low ", "low"),
        ("audio.microphone", "hw:CARD=Mic,DEV=0", "hw:CARD=Mic,DEV=0"),
    ],
)
def test_text_becomes_the_value_it_means(name: str, text: str, value: object) -> None:
    parsed = parse(KNOWN[name], text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("wake.second_stage", "perhaps", "true or false"),
        ("voice.volume", "loud", "a whole number from 0 to 100"),
        ("voice.volume", "30.5", "a whole number from 0 to 100"),
        ("voice.volume", "-1", "a whole number from 0 to 100"),
        ("voice.volume", "٣٠", "a whole number from 0 to 100"),
        ("voice.speed", "nan", "a number from 0.5 to 2"),
        ("voice.speed", "inf", "a number from 0.5 to 2"),
        ("voice.speed", "1.2.3", "a number from 0.5 to 2"),
        ("voice.speed", "", "a number from 0.5 to 2"),
        ("wake.sensitivity", "medium", "one of low, normal, high"),
        ("audio.microphone", "two\nlines", "text on one line"),
        ("audio.microphone", "a\x00b", "text on one line"),
    ],
)
def test_other_text_is_refused_with_what_is_allowed(name: str, text: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(KNOWN[name], text, where="HERE")
    assert caught.value.what.startswith(f"HERE: {name} cannot be ")
    assert caught.value.what.isprintable()
    assert allowed in caught.value.mend


@pytest.mark.parametrize("value", [True, 1, 1.5, None, ["x"], {"a": 1}])
def test_a_value_of_another_type_is_not_bent_into_shape(value: object) -> None:
    with pytest.raises(SettingsError):
        check(KNOWN["audio.microphone"], value)
    if type(value) is not int:
        with pytest.raises(SettingsError):
            check(KNOWN["voice.volume"], value)


def test_a_secret_is_not_repeated_in_an_error() -> None:
    with pytest.raises(SettingsError) as caught:
        parse(KNOWN["model.api_key"], "sk-secret\n")
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"endpoint.shortest_ms": 950}, "endpoint.longest_ms"),
        ({"endpoint.provisional_ms": 450}, "endpoint.shortest_ms"),
        ({"audio.microphone_channel": 1}, "audio.microphone_channels"),
        ({"model.backend": "openai"}, "model.url"),
        ({"model.backend": "openai", "model.url": "192.168.1.2:80"}, "model.url"),
        ({"model.backend": "openai", "model.url": "http://[::1"}, "model.url"),
        ({"model.backend": "openai", "model.url": "ftp://nas/v1"}, "model.url"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    values: dict[str, bool | int | float | str], named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        check_together(build(values))


def server(url: str, host: str) -> Settings:
    return build(
        {
            "model.backend": "openai",
            "model.url": url,
            "model.send_words_to": host,
        }
    )


def test_words_are_sent_only_to_the_host_that_was_named() -> None:
    check_together(server("http://192.168.1.20:8080/v1", "192.168.1.20"))
    check_together(server("http://NAS.local/v1", "nas.local"))
    check_together(server("http://[fd00::2]:80/v1", "fd00::2"))
    check_together(server("http://[fd00::2]:80/v1", "[FD00::2]"))
    with pytest.raises(SettingsError, match=r"model\.send_words_to 192\.168\.1\.20"):
        check_together(server("http://192.168.1.20/v1", "192.168.1.21"))
    with pytest.raises(SettingsError, match=r"model\.send_words_to evil\.example"):
        check_together(server("http://nas.local@evil.example/v1", "nas.local"))


def test_a_value_is_found_by_its_name() -> None:
    tree = build({"voice.volume": 3, "language": "es"})
    assert value_of(tree, "voice.volume") == 3
    assert value_of(tree, "language") == "es"
    assert {name: value_of(settings.Settings(), name) for name in KNOWN} == {
        name: setting.default for name, setting in KNOWN.items()
    }
