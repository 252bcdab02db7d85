// One conversation that was kept: read, and carried on.

import * as api from "../api.js";
import {h, icon, keepPlace, say, show, toEnd} from "../dom.js";
import {moment} from "../format.js";
import {t} from "../i18n.js";
import {actions, pathOf} from "../parts/chat_actions.js";
import {attempt} from "../parts/dialog.js";
import {Thread} from "../parts/thread.js";
import {usage} from "../parts/usage.js";
import {change, store, watch} from "../store.js";

const PAGE = 50;

// at: the number of the entry to show, where one was looked for.
export async function render(root, [uuid, at], signal) {
  const page = layout(root);
  const kept = new Entries(pathOf(uuid), page, signal);
  try {
    await kept.begin(at ? Number(at) : null);
  } catch (error) {
    if (signal.aborted) return page.title;
    say(page.title, t("not there"));
    page.scroll.replaceChildren(
      h("p", {class: "empty"}, error.status === 404 ? t("not there explained") : error.message),
    );
    return page.title;
  }
  describe(page, kept.chat);
  page.actions.append(...actions(() => kept.chat, renamed));
  if (kept.chat.kind === "pane") show(page.foot, false);
  else page.foot.append(...carryOn(() => kept.chat, signal));

  // What it consumed grows while it is read.
  page.used.addEventListener(
    "toggle",
    attempt(async () => {
      if (!page.used.open) return;
      await kept.refresh();
      describe(page, kept.chat);
    }),
  );
  watch(
    ["forgotten"],
    () => {
      if (store.forgotten?.conversations.includes(uuid)) location.hash = "#/history";
      else kept.drop(new Set(store.forgotten?.entries[uuid] ?? []));
    },
    signal,
  );
  watch(
    ["conversation"],
    () => {
      if (store.conversation?.uuid === uuid) kept.follow(store.conversation.entries);
    },
    signal,
  );

  function renamed(title) {
    kept.chat = {...kept.chat, title};
    describe(page, kept.chat);
    if (store.conversation?.uuid === uuid) change({conversation: {...store.conversation, title}});
  }

  const found = at && page.thread.element.querySelector(`[data-number="${CSS.escape(at)}"]`);
  found?.classList.add("found");
  if (found) found.scrollIntoView({block: "center"});
  else toEnd(page.scroll);
  return page.title;
}

function layout(root) {
  const title = h("h1", {tabindex: "-1"}, "…");
  const about = h("p", {class: "meta"});
  const missing = h("p", {class: "missing", hidden: true});
  const used = h("details", {class: "used"}, h("summary", {}, t("usage")), h("div", {}));
  const thread = new Thread(t("conversation"));
  const older = h("button", {type: "button", class: "older", hidden: true}, t("load older"));
  const newer = h("button", {type: "button", class: "older", hidden: true}, t("load newer"));
  const actions = h("div", {class: "row actions"});
  const back = h(
    "a",
    {class: "round", href: "#/history", "aria-label": t("back"), title: t("back")},
    icon("back"),
  );
  const scroll = h(
    "div",
    {class: "scroll", tabindex: "0", role: "region", "aria-label": t("conversation")},
    missing,
    older,
    thread.element,
    newer,
    used,
  );
  const foot = h("div", {class: "dock row grow"});
  const head = h("header", {class: "head"}, h("div", {class: "row"}, back, title), about, actions);
  root.append(h("section", {class: "one"}, head, scroll, foot));
  return {title, about, missing, used, thread, older, newer, actions, scroll, foot};
}

function describe({title, about, missing, used}, chat) {
  say(title, chat.title || t("untitled"));
  say(
    about,
    [t(`chat ${chat.kind}`), moment(chat.created), t("entries", chat.entries)].join(" · "),
  );
  const lacks = [
    chat.state === "interrupted" && t("interrupted explained"),
    chat.incomplete && (chat.missing || t("incomplete explained")),
  ];
  say(missing, lacks.filter(Boolean).join(" "));
  show(missing, Boolean(missing.textContent));
  used.lastChild.replaceChildren(...usage(chat));
}

// The part of the thread that was loaded; it grows at both ends.
class Entries {
  #path;
  #page;
  #signal;
  #all = [];
  #newest = 0; // number of the last entry there is

  constructor(path, page, signal) {
    this.#path = path;
    this.#page = page;
    this.#signal = signal;
    page.older.addEventListener(
      "click",
      attempt(() => this.#older()),
    );
    page.newer.addEventListener(
      "click",
      attempt(() => this.#newer()),
    );
  }

  async begin(at) {
    const {chat, entries, more} = await this.#get(at === null ? {} : {before: at + PAGE / 2});
    const end = at === null ? entries : (await this.#get({limit: 1})).entries;
    this.chat = chat;
    this.#newest = end.at(-1)?.number ?? 0;
    show(this.#page.older, more);
    this.#put(entries);
  }

  async refresh() {
    this.chat = (await this.#get({limit: 1})).chat;
  }

  drop(numbers) {
    if (numbers.size) this.#put(this.#all.filter((entry) => !numbers.has(entry.number)));
  }

  // What is said now joins the end, where the end is shown.
  follow(entries) {
    if (this.#last < this.#newest) return;
    const later = entries.filter((entry) => entry.number > this.#last);
    this.#newest = later.at(-1)?.number ?? this.#newest;
    if (later.length) this.#put([...this.#all, ...later]);
  }

  get #last() {
    return this.#all.at(-1)?.number ?? 0;
  }

  #get(asked) {
    return api.get(api.query(this.#path, {limit: PAGE, ...asked}), this.#signal);
  }

  #put(entries) {
    this.#all = entries;
    this.#page.thread.show(entries, {uuid: this.chat.uuid});
    show(this.#page.newer, this.#last < this.#newest);
  }

  async #older() {
    const {entries, more} = await this.#get({before: this.#all[0].number});
    await keepPlace(this.#page.scroll, () => {
      this.#put([...entries, ...this.#all]);
      show(this.#page.older, more);
    });
  }

  // Numbers have gaps where something was lost or deleted.
  async #newer() {
    let reach = this.#last;
    let later = [];
    while (!later.length && reach < this.#newest) {
      reach = Math.min(reach + PAGE, this.#newest);
      const {entries} = await this.#get({before: reach + 1});
      later = entries.filter((entry) => entry.number > this.#last);
    }
    if (!later.length) this.#newest = this.#last;
    this.#put([...this.#all, ...later]);
  }
}

// Nothing begins here: the live page is made ready, and begins with the next tap.
function carryOn(chat, signal) {
  const plan = (typing) => {
    change({planned: {chat: chat().uuid, title: chat().title || t("untitled"), typing}});
    location.hash = "#/";
  };
  const onward = h(
    "button",
    {type: "button", class: "primary", onclick: () => plan(false)},
    t("continue with echo"),
  );
  const typing = h(
    "button",
    {type: "button", onclick: () => plan(true)},
    icon("typed"),
    t("by typing"),
  );
  const open = h("a", {class: "button primary", href: "#/"}, t("goes on now"));
  watch(
    ["conversation"],
    () => {
      const isOpen = store.conversation?.uuid === chat().uuid;
      for (const button of [onward, typing]) show(button, !isOpen);
      show(open, isOpen);
    },
    signal,
  );
  return [onward, typing, open];
}
