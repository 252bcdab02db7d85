// The live events, followed through sleep and lost networks without a gap or a double.

// Read with fetch and not with EventSource: only so are the server's comments seen, and silence is
// the one sign that a device without power gives.
const SILENCE_MS = 40000; // the server comments every 15 s
const STALE_MS = 17000;
const PAUSES_MS = [250, 1000, 2000, 5000, 10000];

export class Stream {
  #lastId = "";
  #heardAt = 0;
  #connection = null;
  #wake = null;
  #closed = false;
  #failures = 0;

  // onEvent(name, data); onConnected(bool)
  constructor(onEvent, onConnected) {
    this.onEvent = onEvent;
    this.onConnected = onConnected;
  }

  open() {
    const again = () => this.#again();
    this.listeners = new AbortController();
    const {signal} = this.listeners;
    addEventListener("online", again, {signal});
    addEventListener("pageshow", () => this.#ifStale(), {signal});
    document.addEventListener("visibilitychange", () => this.#ifStale(), {signal});
    addEventListener(
      "offline",
      () => {
        this.#connection?.abort();
        this.onConnected(false);
      },
      {signal},
    );
    this.#run();
  }

  close() {
    this.#closed = true;
    this.listeners.abort();
    this.#connection?.abort();
    this.#wake?.();
  }

  #ifStale() {
    if (document.visibilityState === "visible" && Date.now() - this.#heardAt > STALE_MS)
      this.#again();
  }

  #again() {
    this.#failures = 0;
    this.#connection?.abort();
    this.#wake?.();
  }

  async #run() {
    while (!this.#closed) {
      try {
        await this.#follow();
      } catch {
        // Lost, refused or cut off: it is all the same, and tried again.
      }
      if (this.#closed) return;
      this.onConnected(false);
      const pause = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)];
      this.#failures += 1;
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, pause);
      });
    }
  }

  async #follow() {
    const connection = (this.#connection = new AbortController());
    const watchdog = setInterval(() => {
      if (Date.now() - this.#heardAt > SILENCE_MS) connection.abort();
    }, 5000);
    this.#heardAt = Date.now();
    try {
      const response = await fetch("/api/live", {
        signal: connection.signal,
        cache: "no-store",
        credentials: "same-origin",
        headers: {
          Accept: "text/event-stream",
          ...(this.#lastId && {"Last-Event-ID": this.#lastId}),
        },
      });
      if (response.status === 401) return document.dispatchEvent(new Event("unpaired"));
      if (!response.ok) throw new Error(String(response.status));
      await this.#read(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } finally {
      clearInterval(watchdog);
      connection.abort();
    }
  }

  async #read(reader) {
    let rest = "";
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      this.#heardAt = Date.now();
      const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block) {
    const fields = {data: []};
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const value = line.slice(colon + 1).replace(/^ /, "");
      if (line.startsWith("data:")) fields.data.push(value);
      else fields[line.slice(0, colon)] = value;
    }
    if (!fields.event) return;
    const data = JSON.parse(fields.data.join("\n"));
    if (fields.event === "ready") {
      this.#failures = 0;
      data.resumed = this.#lastId !== "" && !data.reset;
      data.restarted = this.#lastId !== "" && parts(this.#lastId)[0] !== parts(data.last_id)[0];
      this.#lastId = data.last_id;
      this.onEvent("ready", data);
      this.onConnected(true);
      return;
    }
    if (fields.id) {
      if (this.#isOld(fields.id)) return;
      this.#lastId = fields.id;
    }
    this.onEvent(fields.event, data);
  }

  // Ids are <start>-<n>.
  #isOld(id) {
    const [start, number] = parts(id);
    const [lastStart, last] = parts(this.#lastId);
    return start === lastStart && number <= last;
  }
}

function parts(id) {
  const at = id.lastIndexOf("-");
  return [id.slice(0, at), Number(id.slice(at + 1))];
}
