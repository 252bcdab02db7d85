// Entries as a thread: those on the page already stay the elements they are.

import {h, say, show} from "../dom.js";
import {stamp} from "../format.js";
import {t} from "../i18n.js";

const DOUBTFUL = 0.6; // below it, what was heard is marked

export class Thread {
  #items = new Map();

  constructor(label) {
    this.element = h("ol", {class: "thread", "aria-label": label});
  }

  // uuid: of the conversation, for its images. continuedAt: the number after which it goes on.
  show(entries, {uuid, continuedAt = null, title = ""} = {}) {
    const wanted = entries.map((entry) => [`e${entry.number}`, entry]);
    if (continuedAt !== null) {
      const at = entries.filter((entry) => entry.number <= continuedAt).length;
      wanted.splice(at, 0, ["continued", title]);
    }
    const keys = new Set(wanted.map(([key]) => key));
    for (const [key, item] of this.#items) {
      if (keys.has(key)) continue;
      item.remove();
      this.#items.delete(key);
    }
    let before = null;
    for (const [key, what] of wanted) {
      const item = this.#items.get(key) ?? this.#make(key, what, uuid);
      const next = before ? before.nextSibling : this.element.firstChild;
      if (next !== item) this.element.insertBefore(item, next);
      before = item;
    }
  }

  clear() {
    this.#items.clear();
    this.element.replaceChildren();
  }

  #make(key, what, uuid) {
    const item =
      key === "continued"
        ? h("li", {class: "continued"}, t("continuing", what))
        : entryItem(what, uuid);
    this.#items.set(key, item);
    return item;
  }
}

function entryItem(entry, uuid) {
  const status =
    entry.status && entry.status !== "complete"
      ? h("span", {class: "mark"}, t(`status ${entry.status}`))
      : null;
  const doubtful =
    entry.kind === "user" && typeof entry.confidence === "number" && entry.confidence < DOUBTFUL
      ? h("span", {class: "mark"}, t("heard doubtfully"))
      : null;
  return h(
    "li",
    {class: `entry ${entry.kind}`, "data-number": entry.number},
    h("p", {class: "who"}, who(entry), " ", h("span", {class: "when"}, stamp(entry.created))),
    entry.text ? h("p", {class: "text"}, entry.text) : null,
    (entry.images ?? []).map((part) =>
      h("img", {
        src: `/api/chats/${uuid}/entries/${entry.number}/images/${part}`,
        alt: t("image"),
        loading: "lazy",
      }),
    ),
    status || doubtful ? h("p", {class: "marks"}, status, doubtful) : null,
  );
}

function who(entry) {
  if (entry.kind === "user") return t(entry.input_mode === "text" ? "you typed" : "you said");
  return t(`kind ${entry.kind}`);
}

// What is being said just now: the words as they are heard, and the answer as it comes.
export class Now {
  constructor() {
    this.heardText = h("p", {class: "text"});
    this.heard = h(
      "div",
      {class: "entry user now", hidden: true},
      h("p", {class: "who"}, t("you are saying")),
      this.heardText,
    );
    this.replyText = h("p", {class: "text"});
    this.status = h("span", {class: "mark"});
    this.marks = h("p", {class: "marks"}, this.status);
    this.tools = h("ul", {class: "tools"});
    this.reply = h(
      "div",
      {class: "entry assistant now", hidden: true},
      h("p", {class: "who"}, t("kind assistant")),
      this.tools,
      this.replyText,
      this.marks,
    );
    this.element = h("div", {class: "now-box"}, this.heard, this.reply);
  }

  show({partial, reply, tools, state}) {
    say(this.heardText, partial);
    show(this.heard, Boolean(partial));
    this.tools.replaceChildren(...tools.map(({text}) => h("li", {}, text)));
    say(this.replyText, reply?.text ?? "");
    this.reply.classList.toggle("coming", Boolean(reply && !reply.ended));
    say(
      this.status,
      reply?.ended && reply.status !== "complete" ? t(`status ${reply.status}`) : "",
    );
    show(this.marks, Boolean(this.status.textContent));
    const thinking = state === "thinking" && !reply;
    this.reply.classList.toggle("thinking", thinking);
    show(this.reply, Boolean(reply || tools.length || thinking));
  }
}
