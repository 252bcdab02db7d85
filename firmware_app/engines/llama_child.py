"""The language model in a process of its own: one JSON object a line in, one a line out.

It is started by `engines/llama.py` as `python -m firmware_app.engines.llama_child OPTIONS`, where
OPTIONS is the JSON of `Options`. It ends when its standard input ends, so it never outlives its
parent.

In:   {"id": 1, "do": "reply", "messages": [["user", "…"], …], "temperature": 0.3, "tokens": 160}
      {"id": 2, "do": "prefill", "messages": […]}       given up when a reply or a newer one comes
      {"id": 3, "do": "count", "texts": ["…", …]}       answered at once, also beside a reply
      {"id": 1, "do": "stop"}
Out:  {"stage": "loaded"}, {"stage": "ready"}, {"stage": "failed", "code": "…", "why": "…"}
      {"id": 1, "text": "…"}
      {"id": 1, "end": "stop", "prompt": 70, "cached": 60, "generated": 12, "seconds": 0.4}
      {"id": 1, "error": "too-long", "prompt": 3000, "room": 2000}
      {"id": 3, "counts": [5, …]}
"""

import codecs
import ctypes
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

BATCH = 16  # prompt tokens between two looks at the stop flag; as fast as larger ones on one thread
NICE = 5  # audio goes first
KILL_ME_FIRST = 500  # proc(5): where memory ends, one answer is lost and not the service
REPEAT_WINDOW = 64  # tokens of the reply that the repeat penalty looks back on
REPEAT_PENALTY = 1.1
GGML_LOG_LEVEL_ERROR = 4  # ggml.h
PR_SET_DUMPABLE = 4  # prctl(2): no core file, which would hold words


@dataclass(frozen=True, slots=True)
class Options:
    path: str
    context_tokens: int
    threads: int


class UnloadableError(Exception):
    """code: missing | model; the text is the engine's own reason."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


class TooLongError(Exception):
    def __init__(self, prompt: int, room: int) -> None:
        super().__init__()
        self.prompt = prompt
        self.room = room


@dataclass(slots=True)
class Job:
    id: int
    request: dict[str, Any]
    stopped: bool = False  # written by the reader's thread, read between two tokens


@dataclass(slots=True)
class Ending:
    """Decides where a reply ends when the model does not end it itself."""

    limit: int  # tokens
    text: str = ""
    tokens: int = 0
    sentences: set[str] = field(default_factory=set)
    sentence_start: int = 0

    def reason(self, piece: str) -> str | None:
        """Why the reply ends before this piece, or None after taking it in.

        After half the limit no new sentence begins; a sentence said before, or the same few words
        over and over, ends it as well.
        """
        if piece[:1].isspace() and self._sentence_ended():
            sentence = self.text[self.sentence_start :].strip().lower()
            if sentence in self.sentences:
                return "repeat"
            self.sentences.add(sentence)
            self.sentence_start = len(self.text)
            if self.tokens >= self.limit // 2:
                return "length"
        if self.tokens >= self.limit:
            return "length"
        self.text += piece
        self.tokens += 1
        return "repeat" if _LOOP.search(self.text[-240:]) else None

    def _sentence_ended(self) -> bool:
        return bool(_SENTENCE_END.search(self.text[-40:]))


_SENTENCE_END = re.compile(
    r"""(?:[!?\u2026\u3002\uff01\uff1f]|[^\W_]{4,}\.|[)"']\.|\n)["')\]*_]*\s*$"""
)
_LOOP = re.compile(r"(?s)(.{2,40}?)\1{5}$|(.{12,60}?)\2{2}$")


class Engine:
    """The native model with its cache: `self._cache` are the tokens that are in it, in order."""

    def __init__(self, options: Options, loaded: Callable[[], None]) -> None:
        try:
            import llama_cpp
            from llama_cpp.llama_chat_format import Jinja2ChatFormatter
        except (ImportError, OSError, RuntimeError) as error:
            raise UnloadableError("missing", str(error)) from error
        self._llama: Any = llama_cpp
        self._cache: list[int] = []
        self._logits_are_last = False  # the logits at hand are those of the cache's last token
        reasons: list[str] = []

        @self._llama.llama_log_callback  # type: ignore[untyped-decorator]
        def keep_errors(level: int, text: bytes, _: object) -> None:
            if level == GGML_LOG_LEVEL_ERROR and not self._cache:
                reasons[:] = [*reasons[-3:], text.decode(errors="replace").strip()]

        self._log = keep_errors  # the library keeps only the pointer
        self._llama.llama_log_set(keep_errors, ctypes.c_void_p(0))
        self._llama.llama_backend_init()
        self._open(options, reasons)
        self._controls = self._control_tokens()
        self._render = Jinja2ChatFormatter(
            template=self._template(),
            bos_token=self._piece(self._llama.llama_vocab_bos(self._vocab), special=True),
            eos_token=self._piece(self._llama.llama_vocab_eos(self._vocab), special=True),
        )
        self.overhead = self._message_overhead()
        loaded()
        self._warm_up()

    def _open(self, options: Options, reasons: list[str]) -> None:
        params = self._llama.llama_model_default_params()
        params.n_gpu_layers = 0
        self._model = self._llama.llama_model_load_from_file(options.path.encode(), params)
        if not self._model:
            raise UnloadableError("model", "; ".join(reasons) or "no reason given")
        self._vocab = self._llama.llama_model_get_vocab(self._model)
        limits = self._llama.llama_context_default_params()
        limits.n_ctx = options.context_tokens
        limits.n_batch = limits.n_ubatch = BATCH
        limits.n_seq_max = 1
        limits.n_threads = limits.n_threads_batch = options.threads
        limits.no_perf = True
        self._context = self._llama.llama_init_from_model(self._model, limits)
        if not self._context:
            raise UnloadableError("model", "; ".join(reasons) or "no room for its context")
        self._memory = self._llama.llama_get_memory(self._context)
        self.room: int = self._llama.llama_n_ctx(self._context)

    def _template(self) -> str:
        template = self._llama.llama_model_chat_template(self._model, None)
        if not template:
            raise UnloadableError("model", "it has no chat template")
        return str(template.decode())

    def _control_tokens(self) -> re.Pattern[str]:
        """Texts that would be read as the template's own marks if someone said or typed them."""
        count = self._llama.llama_vocab_n_tokens(self._vocab)
        texts = [
            self._piece(token, special=True)
            for token in range(count)
            if self._llama.llama_vocab_is_control(self._vocab, token)
        ]
        marks = sorted((re.escape(text) for text in texts if len(text) > 2), key=len, reverse=True)
        return re.compile("|".join(marks) or r"(?!)")

    def _message_overhead(self) -> int:
        """Tokens that the template adds to a message, rounded up."""
        exchange = [("user", "a"), ("assistant", "a")]
        one, two = (self.prompt_tokens([("system", "a"), *exchange * n]) for n in (1, 2))
        return -(-(len(two) - len(one) - 2) // 2)

    def _warm_up(self) -> None:
        """Touch the weights, and die here rather than in a reply where the build is wrong."""
        self.evaluate(self._tokenise("Good morning. How are you?", special=False), lambda: False)
        self._keep(0)

    def _piece(self, token: int, *, special: bool = False) -> str:
        return self._piece_bytes(token, special=special).decode(errors="replace")

    def _piece_bytes(self, token: int, *, special: bool = False) -> bytes:
        if token < 0:
            return b""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = self._llama.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def _tokenise(self, text: str, *, special: bool) -> list[int]:
        data = text.encode()
        room = len(data) + 8
        tokens = (self._llama.llama_token * room)()
        n = self._llama.llama_tokenize(self._vocab, data, len(data), tokens, room, False, special)
        return list(tokens[:n])

    def prompt_tokens(self, messages: Sequence[Sequence[str]]) -> list[int]:
        """Tokens of the conversation, opened for whoever is next: the reply, or a question."""
        if messages[-1][0] == "user":
            return self._tokenise(self._rendered(messages), special=True)
        one, other = (self._rendered([*messages, ("user", word)]) for word in ("a", "b"))
        return self._tokenise(one[: _common_prefix(one, other)], special=True)

    def _rendered(self, messages: Sequence[Sequence[str]]) -> str:
        return self._render(
            messages=[
                {"role": role, "content": self._controls.sub(" ", content)}  # type: ignore[misc]
                for role, content in messages
            ]
        ).prompt

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as a message's content, with what the template adds."""
        return [len(self._tokenise(text, special=False)) + self.overhead for text in texts]

    def _keep(self, count: int) -> None:
        """Forget all but the first tokens of the cache."""
        if count == len(self._cache):
            return
        if not self._llama.llama_memory_seq_rm(self._memory, 0, count, -1):
            count = 0  # a recurrent model cannot step back
            self._llama.llama_memory_clear(self._memory, True)
        del self._cache[count:]
        self._logits_are_last = False

    def evaluate(self, tokens: Sequence[int], stopped: Callable[[], bool]) -> int:
        """Bring the cache to exactly these tokens and return how many it had already.

        The work is done BATCH tokens at a time, between which `stopped` is asked; what was done
        until then stays in the cache. Raises TooLongError.
        """
        if len(tokens) >= self.room:
            raise TooLongError(len(tokens), self.room)
        shared = _common_prefix(self._cache, tokens)
        if shared == len(tokens) and not (self._logits_are_last and shared == len(self._cache)):
            shared -= 1  # the last token once more, for its logits
        self._keep(shared)
        for start in range(shared, len(tokens), BATCH):
            if stopped():
                break
            self._decode(tokens[start : start + BATCH])
        return shared

    def prefill(self, tokens: Sequence[int], stopped: Callable[[], bool]) -> int:
        """Like `evaluate`, but a cache that has these tokens and more is left as it is."""
        if self._cache[: len(tokens)] == tokens or stopped():
            return len(tokens)
        return self.evaluate(tokens, stopped)

    def _decode(self, tokens: Sequence[int]) -> None:
        native = (self._llama.llama_token * len(tokens))(*tokens)
        batch = self._llama.llama_batch_get_one(native, len(tokens))
        status = self._llama.llama_decode(self._context, batch)
        if status:
            self._keep(0)
            raise RuntimeError(f"llama_decode returned {status}")
        self._cache.extend(tokens)
        self._logits_are_last = True

    def generate(self, temperature: float, limit: int) -> Iterator[bytes]:
        """Yield pieces of text after what is in the cache, until the model ends its turn."""
        sampler = self._sampler(temperature)
        try:
            for _ in range(min(limit, self.room - len(self._cache))):
                token = self._llama.llama_sampler_sample(sampler, self._context, -1)
                if self._llama.llama_vocab_is_eog(
                    self._vocab, token
                ) or self._llama.llama_vocab_is_control(self._vocab, token):
                    return
                yield self._piece_bytes(token)
                self._decode([token])
        finally:
            self._llama.llama_sampler_free(sampler)

    def _sampler(self, temperature: float) -> object:
        llama = self._llama
        chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        count = llama.llama_vocab_n_tokens(self._vocab)
        links = [llama.llama_sampler_init_penalties(count, REPEAT_WINDOW, REPEAT_PENALTY, 0.0, 0.0)]
        if temperature == 0:
            links.append(llama.llama_sampler_init_greedy())
        else:
            links += [
                llama.llama_sampler_init_top_k(40),
                llama.llama_sampler_init_top_p(0.9, 1),
                llama.llama_sampler_init_temp(temperature),
                llama.llama_sampler_init_dist(int.from_bytes(os.urandom(4), "little")),
            ]
        for link in links:
            llama.llama_sampler_chain_add(chain, link)
        return chain


def _common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


class Child:
    """Takes requests in one thread and works on them, one at a time, in another."""

    def __init__(self, requests: TextIO, events: TextIO) -> None:
        self._requests = requests
        self._events = events
        self._writing = threading.Lock()
        self._waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._jobs: dict[int, Job] = {}
        self._engine: Engine | None = None

    def run(self, options: Options) -> int:
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._engine = Engine(options, loaded=lambda: self._tell(stage="loaded"))
        except UnloadableError as error:
            self._tell(stage="failed", code=error.code, why=str(error))
            return 1
        self._tell(stage="ready")
        while True:
            job = self._waiting.get()
            self._work(job, self._engine)
            self._jobs.pop(job.id, None)

    def _tell(self, **event: object) -> None:
        with self._writing:
            self._events.write(json.dumps(event) + "\n")
            self._events.flush()

    def _read(self) -> None:
        for line in self._requests:
            self._take(json.loads(line))
        os._exit(0)  # the parent is gone; the other thread may be in native code

    def _take(self, request: dict[str, Any]) -> None:
        number = request["id"]
        if request["do"] == "stop":
            if job := self._jobs.get(number):
                job.stopped = True
        elif request["do"] == "count":
            assert self._engine is not None  # noqa: S101  # asked only after "ready"
            self._tell(id=number, counts=self._engine.count(request["texts"]))
        else:
            for job in list(self._jobs.values()):
                job.stopped |= job.request["do"] == "prefill"
            self._jobs[number] = job = Job(number, request)
            self._waiting.put(job)

    def _work(self, job: Job, engine: Engine) -> None:
        before = time.process_time()
        try:
            prompt = engine.prompt_tokens(job.request["messages"])
            end, generated = "stop", 0
            if job.request["do"] == "prefill":
                cached = engine.prefill(prompt, lambda: job.stopped)
            else:
                cached = engine.evaluate(prompt, lambda: job.stopped)
                end, generated = self._speak(job, engine)
        except TooLongError as error:
            self._tell(id=job.id, error="too-long", prompt=error.prompt, room=error.room)
        except Exception as error:  # its text may hold words: only its name goes out
            self._tell(id=job.id, error=type(error).__name__)
        else:
            self._tell(
                id=job.id,
                end="stopped" if job.stopped else end,
                prompt=len(prompt),
                cached=cached,
                generated=generated,
                seconds=time.process_time() - before,
            )

    def _speak(self, job: Job, engine: Engine) -> tuple[str, int]:
        """Send the reply piece by piece; return why it ended and how many tokens it has."""
        limit = job.request["tokens"]
        ending = Ending(limit)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        reason: str | None = None
        if job.stopped:
            return "stopped", 0
        for data in engine.generate(job.request["temperature"], limit + 1):
            piece = decoder.decode(data)
            reason = ending.reason(piece)
            if reason or job.stopped:
                break
            if piece:
                self._tell(id=job.id, text=piece)
        return reason or "stop", ending.tokens


def _behave() -> None:
    """Write no core file, leave by the parent's word only, and yield to the rest of Echo."""
    # First: once it is not dumpable, only root may write there.
    Path("/proc/self/oom_score_adj").write_text(str(KILL_ME_FIRST))
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # they go to the whole group or unit
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)


def features() -> str:
    """What the library was built for, in its own words."""
    import llama_cpp

    return str(llama_cpp.llama_print_system_info().decode())


def main() -> int:
    _behave()
    if sys.argv[1:] == ["features"]:
        print(features())
        return 0
    events = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever native code prints must not be taken for an event
    options = Options(**json.loads(sys.argv[1]))
    return Child(sys.stdin, events).run(options)


if __name__ == "__main__":
    sys.exit(main())
