"""The word "stop" over Echo's own voice, judged by the recogniser's model.

Its transcripts of single words are poor. The distribution over the first token alone says more: how
likely the word is beside everything else that the model knows, and beside words that sound like it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from firmware_app.engines import Recogniser
from firmware_app.engines.wake_verifier import PhraseModel
from firmware_app.errors import EngineError
from firmware_app.frames import Samples

SPELLINGS = (" Stop", " stop", "Stop", "stop", " STOP")
RIVALS = ("top", "step", "stuff", "shop", "store", "pop", "hop")  # what was taken for it most
WINDOW_SECONDS = 5  # of the encoder
# Least log probability that is a "stop", by the model that it was measured with.
ACCEPT: Mapping[str, float] = {"whisper tiny-en": -4.0}


def stop_word_for(recogniser: Recogniser) -> "WhisperStopWord | None":
    """None for a recogniser with which it was not measured."""
    accept = ACCEPT.get(recogniser.name)
    return None if accept is None else WhisperStopWord(cast("PhraseModel", recogniser), accept)


class WhisperStopWord:
    """Satisfies engines.StopWord. accept: the least log probability."""

    def __init__(self, whisper: PhraseModel, accept: float) -> None:
        self._whisper = whisper
        self._accept = accept
        self._tokens = self._single_tokens(SPELLINGS)
        self._rivals = self._single_tokens([f" {form}" for w in RIVALS for form in (w, w.title())])

    def _single_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of those texts that are one."""
        encoded = [self._whisper.tokenizer.encode(text) for text in texts]
        return [tokens[0] for tokens in encoded if len(tokens) == 1]

    async def begins(self, samples: Samples) -> bool:
        """Judge on the recogniser's thread. Raises EngineError where the model fails."""
        try:
            return await self._whisper.on_worker(lambda: self.score(samples) >= self._accept)
        except (RuntimeError, ValueError) as error:
            raise EngineError(
                "recogniser-failed",
                f"The recogniser {self._whisper.name} failed: {error}.",
                "Restart Echo; if it happens again, check the model with `hey-echo models verify`.",
            ) from error

    def score(self, samples: Samples) -> float:
        """Log probability that the sound begins with the word; blocks for about 0.1 s.

        Minus infinity where a rival is likelier.
        """
        tokenizer = self._whisper.tokenizer
        prompt = [*tokenizer.sot_sequence, tokenizer.no_timestamps]
        result = self._whisper.model.generate(
            self._whisper.encode(samples, WINDOW_SECONDS),
            [prompt],
            beam_size=1,
            max_length=len(prompt) + 1,
            return_logits_vocab=True,
        )[0]
        logits = np.array(result.logits[0][0], np.float64).reshape(-1)
        word = np.logaddexp.reduce(logits[self._tokens])
        if word < logits[self._rivals].max():
            return -math.inf
        return float(word - np.logaddexp.reduce(logits))
