"""What Echo still knows of a long conversation: by its summary, and by finding older exchanges.

Each of a few facts is told at the third exchange; others follow until the conversation has outgrown
the model and is summed up, and then more, up to 200. Then the fact is asked for: once with the
older exchanges at hand, once with the summary alone. The model is the one of the settings; the
context is small, so that this does not take all day.
"""

import argparse
import asyncio
import sys
from contextlib import aclosing
from dataclasses import dataclass, replace

from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.thinking import Thinking, Thought
from firmware_app.engines import EngineNames
from firmware_app.engines.loading import load_model
from firmware_app.events import Status
from firmware_app.settings_layers import load
from firmware_app.skills.building import World, build

EXCHANGES = 200
SUMMED_UP = 40  # after this one, which is more than the context holds
CONTEXT, REPLY = 768, 96  # tokens
LAST = 16  # entries that are left where the summary is on its own, as when carried on

FILLER = (
    ("What colour is the sky?", "The sky is blue on a clear day."),
    ("Which fruit is good for breakfast?", "Apples and bananas are good for breakfast."),
    ("How do I water a cactus?", "Water it seldom, and let the soil dry in between."),
    ("Tell me something about trains.", "Trains run on rails and carry many people."),
    ("What can I cook with potatoes?", "You can boil, fry or bake them."),
    ("Is it good to walk every day?", "Yes, a walk every day is good for you."),
    ("What is a good hobby?", "Painting is a hobby that many people like."),
)


@dataclass(frozen=True, slots=True)
class Told:
    said: str
    answer: str
    question: str
    right: str


TOLD = (
    Told(
        "My dog is called Biscuit.", "Biscuit is a nice name.", "What is my dog called?", "Biscuit"
    ),
    Told(
        "My sister lives in Lisbon.", "That is a fine city.", "Where does my sister live?", "Lisbon"
    ),
    Told(
        "My favourite tea is jasmine.",
        "Jasmine tea smells good.",
        "Which tea do I like best?",
        "jasmine",
    ),
    Told("I work as a carpenter.", "You make things of wood.", "What do I work as?", "carpenter"),
    Told(
        "Our neighbour is called Ottilie.",
        "I will remember.",
        "What is our neighbour called?",
        "Ottilie",
    ),
    Told("My car is a green Saab.", "A green car, then.", "Which car do I have?", "Saab"),
)


def add(keeper: Keeper, question: str, answer: str) -> None:
    asked = keeper.ask(question, "text", EngineNames(), 1.0)
    keeper.answer(asked, answer, Status.COMPLETE, "text", EngineNames())


async def answer(thinking: Thinking, question: str) -> str:
    async with aclosing(thinking.words(Thought(question))) as pieces:
        return "".join([piece async for piece in pieces]).strip()


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print summaries and answers")
    show = parser.parse_args().show
    settings = load().settings
    settings = replace(
        settings, model=replace(settings.model, context_tokens=CONTEXT, reply_tokens=REPLY)
    )
    model = load_model(settings)
    await model.ready()
    skills = await asyncio.to_thread(build, World(settings=lambda: settings))
    by_summary = in_summary = by_recall = 0
    for told in TOLD:
        keeper = Keeper(settings)
        thinking = Thinking(settings, model, keeper, skills)
        conversation = keeper.conversation
        for number in range(EXCHANGES):
            add(keeper, *((told.said, told.answer) if number == 2 else FILLER[number % 7]))
            if number == SUMMED_UP:
                await thinking.sum_up()
        in_summary += told.right in conversation.summary.text
        recalled = await answer(thinking, told.question)
        by_recall += told.right.lower() in recalled.lower()
        conversation.entries = conversation.entries[-LAST:]
        alone = await answer(thinking, told.question)
        by_summary += told.right.lower() in alone.lower()
        if show:
            print(f"{told.said}\n  summary through {conversation.summary.through}: ", end="")
            print(f"{conversation.summary.text}\n  recalled: {recalled}\n  alone: {alone}")
        await keeper.close()
    await model.close()
    count = len(TOLD)
    print(f"{model.name}: a fact of the third of {EXCHANGES} exchanges, asked for at the end")
    print(f"the summary has it             {in_summary} of {count}")
    print(f"answered right from it alone   {by_summary} of {count}")
    print(f"answered right with recall     {by_recall} of {count}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
