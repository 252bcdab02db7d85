"""Every setting: its default, its bounds, what it means, and whether Echo itself may change it."""

from dataclasses import dataclass, field
from typing import Any, Literal


def setting(
    default: bool | int | float | str,
    doc: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    choices: tuple[str, ...] = (),
    changeable: bool = False,
    restart: bool = True,
    secret: bool = False,
) -> Any:  # noqa: ANN401 - stands as the default of fields of every type
    """A dataclass field with what the checks, `config show` and the docs need to know.

    changeable: may be written to <state>/settings.toml by voice, page or command.
    restart: takes effect with the next start; False means at once.
    secret: never shown, only that it is set.
    """
    metadata = {
        "doc": doc,
        "at_least": at_least,
        "at_most": at_most,
        "choices": choices,
        "changeable": changeable,
        "restart": restart,
        "secret": secret,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Folders. Empty means: the system's where it exists, else the user's own (XDG)."""

    state: str = setting("", "state: overrides, timers, pairings, traces [/var/lib/hey-echo]")
    data: str = setting("", "data: one folder a workspace with its history [<state>/data]")
    models: str = setting("", "models that were fetched [/var/lib/hey-echo/models]")
    runtime: str = setting("", "socket and lock of the running service [/run/hey-echo]")


@dataclass(frozen=True, slots=True)
class AudioSettings:
    microphone: str = setting("default", "ALSA name of the capture device")
    microphone_rate: int = setting(
        16_000, "sample rate asked of the microphone, Hz", at_least=8_000, at_most=192_000
    )
    microphone_channels: int = setting(
        1, "channels asked of the microphone", at_least=1, at_most=32
    )
    microphone_channel: int = setting(
        0, "the channel that is listened to, from 0", at_least=0, at_most=31
    )
    loudspeaker: str = setting("default", "ALSA name of the playback device")
    loudspeaker_rate: int = setting(
        48_000, "sample rate asked of the loudspeaker, Hz", at_least=8_000, at_most=192_000
    )
    echo_cancellation: bool = setting(
        True, "take Echo's own voice out of what the microphone hears"
    )
    chimes: bool = setting(
        True,
        "soft sounds when Echo wakes, mutes and fails",
        changeable=True,
        restart=False,
    )


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    board: str = setting(
        "auto",
        "microphone board with its light and button; auto looks which one is there, none has none",
    )


@dataclass(frozen=True, slots=True)
class LightSettings:
    brightness: int = setting(
        60,
        "brightness of the light, percent",
        at_least=1,
        at_most=100,
        changeable=True,
        restart=False,
    )
    night_brightness: int = setting(
        8, "brightness at night, percent", at_least=1, at_most=100, changeable=True, restart=False
    )
    night_hours: str = setting(
        "22:00-07:00",
        "hours of the night, such as 22:00-07:00; empty: none",
        changeable=True,
        restart=False,
    )


@dataclass(frozen=True, slots=True)
class WakeSettings:
    sensitivity: Literal["low", "normal", "high"] = setting(
        "normal",
        "how readily Echo wakes; the model card says what each step means",
        choices=("low", "normal", "high"),
        changeable=True,
        restart=False,
    )
    models: str = setting(
        "hey_echo", "wake words listened for, separated by commas: names or paths of heads"
    )
    threshold: float = setting(
        0.0, "score that wakes; 0 takes the sensitivity's own", at_least=0.0, at_most=1.0
    )
    blocks_in_a_row: int = setting(
        1, "blocks of 80 ms above the threshold that wake", at_least=1, at_most=10
    )
    refractory_seconds: float = setting(
        1.5, "time after a detection in which no other counts", at_least=0.1, at_most=10.0
    )
    speaking_threshold_raise: float = setting(
        0.15, "added to the threshold while Echo speaks", at_least=0.0, at_most=0.9
    )
    second_stage: bool = setting(True, "verify a doubtful wake-up with the recogniser's model")
    stop_word: bool = setting(True, 'end a reply or a ring when "stop" is said over it')


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    provisional_ms: int = setting(
        250, "silence after which the reply is prepared", at_least=100, at_most=1000
    )
    shortest_ms: int = setting(400, "silence that ends a whole command", at_least=250, at_most=2000)
    longest_ms: int = setting(
        900, "silence that ends a sentence left hanging", at_least=400, at_most=4000
    )
    nothing_said_seconds: float = setting(
        5.0, "wait for speech after the wake word", at_least=1.0, at_most=30.0
    )
    longest_utterance_seconds: float = setting(
        28.0, "longest utterance", at_least=5.0, at_most=28.0
    )


@dataclass(frozen=True, slots=True)
class RecogniserSettings:
    engine: Literal["auto", "vosk", "whisper"] = setting(
        "auto",
        "auto takes Vosk where a model for the language is installed, else Whisper",
        choices=("auto", "vosk", "whisper"),
        changeable=True,
    )
    model: str = setting(
        "", "name or path of the model; empty takes the engine's own choice", changeable=True
    )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    backend: Literal["llama", "openai"] = setting(
        "llama",
        "llama thinks on this device; openai sends words to the server named below",
        choices=("llama", "openai"),
    )
    model: str = setting(
        "",
        "name or path (llama), the server's name for it (openai); empty: default",
        changeable=True,
    )
    threads: int = setting(
        0, "threads of the language model; 0 leaves the audio a core", at_least=0, at_most=64
    )
    context_tokens: int = setting(
        2048, "size of the model's context, tokens", at_least=512, at_most=131_072
    )
    reply_tokens: int = setting(160, "longest reply, tokens", at_least=16, at_most=2048)
    temperature: float = setting(
        0.0, "randomness of the reply; 0 is the most reliable", at_least=0.0, at_most=2.0
    )
    url: str = setting("", "base address of the OpenAI-compatible server, such as http://host/v1")
    api_key: str = setting("", "key for that server, where it wants one", secret=True)
    send_words_to: str = setting(
        "", "host that may be sent what is said; must name the host of model.url"
    )
    send_words_off_the_home_network: bool = setting(
        False, "allow that host to be outside the home network"
    )


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    engine: Literal["auto", "piper", "espeak"] = setting(
        "auto",
        "auto takes Piper where one of its voices speaks the language, else espeak-ng",
        choices=("auto", "piper", "espeak"),
        changeable=True,
    )
    model: str = setting(
        "", "name or path of the voice; empty: the one for the language", changeable=True
    )
    speed: float = setting(
        1.0, "pace of speech", at_least=0.5, at_most=2.0, changeable=True, restart=False
    )
    volume: int = setting(
        80, "volume, percent", at_least=0, at_most=100, changeable=True, restart=False
    )
    save_conversations: bool = setting(
        True,
        "save what is asked and answered as text; off counts from the next answer, on from the "
        "next conversation",
        changeable=True,
        restart=False,
    )
    history: Literal["off", "today", "all"] = setting(
        "today",
        "what of the history may be reached by voice",
        choices=("off", "today", "all"),
        changeable=True,
        restart=False,
    )


@dataclass(frozen=True, slots=True)
class DialogueSettings:
    follow_up: bool = setting(
        True, "listen on after a reply, without the wake word", changeable=True, restart=False
    )
    follow_up_seconds: float = setting(
        6.0,
        "length of that window",
        at_least=1.0,
        at_most=30.0,
        changeable=True,
        restart=False,
    )
    conversation_minutes: float = setting(
        30.0, "a conversation ends this long after its last exchange", at_least=0.1, at_most=1440.0
    )
    owner: str = setting("home", "whose conversations those are that begin in this room")
    persona: str = setting("", "file with the system prompt, where the owner has written one")


@dataclass(frozen=True, slots=True)
class EncyclopediaSettings:
    files: str = setting("", "ZIM files in which things are looked up, separated by commas")


@dataclass(frozen=True, slots=True)
class HistorySettings:
    workspace: str = setting("home", "household whose history is used: a folder of the data")
    rates: str = setting(
        "", "TOML file with what engines cost; without it every cost is unavailable"
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    enabled: bool = setting(True, "offer the page to browsers on the home network")
    port: int = setting(8080, "port of the page; 0: a free one", at_least=0, at_most=65_535)
    address: str = setting(
        "private",
        "who may reach the page: private (the home network), all, or an address to listen on",
    )
    hosts: str = setting("", "more names by which browsers may reach the page, separated by commas")
    certificate: str = setting(
        "", "certificate of the page, PEM [<state>/tls/certificate.pem where there is one]"
    )
    key: str = setting("", "private key of that certificate, PEM [<state>/tls/key.pem]")


@dataclass(frozen=True, slots=True)
class LogSettings:
    level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "least level that is logged", choices=("debug", "info", "warning", "error")
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree. A name is section.key, such as wake.sensitivity."""

    language: Literal["en", "es"] = setting(
        "en", "language spoken to Echo and by Echo", choices=("en", "es")
    )
    paths: PathSettings = field(default_factory=PathSettings)
    audio: AudioSettings = field(default_factory=AudioSettings)
    device: DeviceSettings = field(default_factory=DeviceSettings)
    lights: LightSettings = field(default_factory=LightSettings)
    wake: WakeSettings = field(default_factory=WakeSettings)
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    recogniser: RecogniserSettings = field(default_factory=RecogniserSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    voice: VoiceSettings = field(default_factory=VoiceSettings)
    dialogue: DialogueSettings = field(default_factory=DialogueSettings)
    encyclopedia: EncyclopediaSettings = field(default_factory=EncyclopediaSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    web: WebSettings = field(default_factory=WebSettings)
    log: LogSettings = field(default_factory=LogSettings)
