"""Settings and figures of the running service, through its socket."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firmware_app.control import stats_calls
from firmware_app.control.client import call
from firmware_app.control.config_calls import ConfigCalls
from firmware_app.control.protocol import RemoteError
from firmware_app.control.server import ControlServer
from firmware_app.settings_layers import Loaded
from firmware_app.traces import Outcome, Stage, Trace, Traces

Ask = Callable[..., Any]


@pytest.fixture
def heard() -> list[Loaded]:
    """The settings that the service was told of."""
    return []


@pytest.fixture
def ask(server: ControlServer, runtime: Path, tmp_path: Path, heard: list[Loaded]) -> Ask:
    config = tmp_path / "config.toml"
    config.write_text('[voice]\nvolume = 10\n[model]\napi_key = "sk-1"\n')
    environ = {"HEY_ECHO_CONFIG": str(config), "HEY_ECHO_PATHS_STATE": str(tmp_path / "state")}
    ConfigCalls(heard.append, environ).register(server)

    def ask(name: str, /, **args: Any) -> Any:  # noqa: ANN401
        return asyncio.to_thread(lambda: call(runtime, name, **args))

    return ask


async def test_a_change_is_kept_and_the_service_hears_of_it(ask: Ask, heard: list[Loaded]) -> None:
    row = await ask("config.set", name="voice.volume", value="30")
    assert (row["value"], row["layer"], row["restart"]) == (30, "changed", False)
    assert [loaded.settings.voice.volume for loaded in heard] == [30]
    assert await ask("config.unset", name="voice.volume") == {"dropped": True}
    assert await ask("config.unset", name="voice.volume") == {"dropped": False}
    assert [loaded.settings.voice.volume for loaded in heard] == [30, 10]


async def test_a_value_may_come_as_text_or_as_json(ask: Ask, heard: list[Loaded]) -> None:
    for value in (False, "true", "off"):
        await ask("config.set", name="dialogue.follow_up", value=value)
    assert [loaded.settings.dialogue.follow_up for loaded in heard] == [False, True, False]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"name": "voice.volum", "value": 3}, "Did you mean voice.volume"),
        ({"name": "voice.volume", "value": 101}, "0 to 100"),
        ({"name": "voice.volume"}, "0 to 100"),
        ({"name": "voice.volume", "value": [1]}, "0 to 100"),
        ({"name": "audio.microphone", "value": "hw:2,0"}, "sudo hey-echo config set"),
        ({"value": 3}, 'needs "name"'),
    ],
)
async def test_a_wrong_change_is_refused_and_nothing_heard(
    ask: Ask, heard: list[Loaded], args: dict[str, Any], says: str
) -> None:
    with pytest.raises(RemoteError) as caught:
        await ask("config.set", **args)
    assert says in str(caught.value)
    assert caught.value.code != "internal"
    assert heard == []


async def test_all_changes_are_dropped_at_once(ask: Ask, heard: list[Loaded]) -> None:
    await ask("config.set", name="voice.volume", value=30)
    await ask("config.set", name="voice.speed", value=1.5)
    with pytest.raises(RemoteError, match="true or false"):
        await ask("config.unset", all="yes")
    assert await ask("config.unset", all=True) == {"dropped": True}
    assert heard[-1].settings.voice.volume == 10
    assert heard[-1].settings.voice.speed == 1.0


async def test_many_changes_at_once_are_all_kept(ask: Ask, heard: list[Loaded]) -> None:
    names = ("voice.volume", "voice.speed", "dialogue.follow_up_seconds")
    await asyncio.gather(*(ask("config.set", name=name, value="2") for name in names))
    layers = {name: heard[-1].origin[name].layer.value for name in names}
    assert set(layers.values()) == {"changed"}


async def test_show_tells_every_setting_and_no_secret(ask: Ask) -> None:
    rows = {row["name"]: row for row in await ask("config.show")}
    assert rows["voice.volume"]["value"] == 10
    assert rows["voice.volume"]["layer"] == "config file"
    assert rows["model.api_key"]["value"] == "(set)"
    assert "sk-1" not in str(rows)


async def test_stats_are_of_the_last_turns(ask: Ask, server: ControlServer) -> None:
    traces = Traces()
    stats_calls.register(server, traces)
    assert await ask("stats") == {"turns": 0, "outcomes": {}, "spans": []}
    for ms in (100, 200, 300):
        traces.add(
            Trace(
                0.0, {Stage.SPEECH_END: 5.0, Stage.TRANSCRIPT: 5.0 + ms / 1000},
                outcome=Outcome.ANSWERED,
            )
        )  # fmt: skip
    stats = await ask("stats", last=2)
    assert stats["turns"] == 2
    assert stats["outcomes"] == {"answered": 2}
    (row,) = stats["spans"]
    assert row["name"] == "transcript"
    assert row["count"] == 2
    assert row["median_ms"] == pytest.approx(250)
    for last in (0, -1, 1001, "3", True):
        with pytest.raises(RemoteError, match="from 1 to 1000"):
            await ask("stats", last=last)
