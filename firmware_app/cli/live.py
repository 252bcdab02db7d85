"""Shows a dialogue as it happens, a line an event."""

import sys
import time
from typing import TextIO

from firmware_app.events import (
    CarriedOn,
    Event,
    Listener,
    ModelReady,
    Notice,
    PartialTranscript,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    SavingChanged,
    State,
    StateChanged,
    Status,
    TurnDropped,
    TurnTraced,
    WakeWordHeard,
)
from firmware_app.traces import Outcome, Trace

STATES = {
    State.IDLE: "waits for the wake word",
    State.LISTENING: "listens",
    State.THINKING: "thinks",
    State.SPEAKING: "speaks",
}
OUTCOMES = {
    Outcome.NOTHING_SAID: "nothing was said",
    Outcome.REJECTED: "that was not the wake word",
    Outcome.NOT_ADDRESSED: "that was not said to Echo",
}


async def show(listener: Listener, out: TextIO | None = None) -> None:
    """Print each event until the listener is closed."""
    began = time.monotonic()
    async for event in listener:
        for line in describe(event):
            print(f"{time.monotonic() - began:6.1f} s  {line}", file=out or sys.stdout, flush=True)


def describe(event: Event) -> list[str]:
    match event:
        case WakeWordHeard(word, score):
            return [f"wake word    {word} (score {score:.2f})"]
        case PartialTranscript(text) if text:
            return [f"heard so far {text}"]
        case QuestionAsked(text):
            return [f"transcript   {text}"]
        case ReplyClause(text):
            return [f"reply        {text}"]
        case ReplyEnded(status) if status is not Status.COMPLETE:
            return [f"reply        ({status})"]
        case StateChanged(State.ERROR, detail):
            return [f"error        {detail}"]
        case StateChanged(state) if state in STATES:
            return [f"Echo         {STATES[state]}"]
        case Notice(_, text):
            return [f"notice       {text}"]
        case SavingChanged(status):
            return [f"conversation {status}"]
        case CarriedOn(_, title):
            return [f"continuing   {title}"]
        case ModelReady(name):
            return [f"model        {name} is ready"]
        case TurnDropped(outcome):
            return [f"dropped      {OUTCOMES.get(outcome, outcome)}"]
        case TurnTraced(trace) if trace.outcome not in OUTCOMES:
            return ["trace, ms after the end of speech:", *_trace(trace)]
    return []


def _trace(trace: Trace) -> list[str]:
    return [
        f"  {stage.replace('_', ' '):22} {ms:7.0f}" for stage, ms in trace.relative_ms().items()
    ]
