// All conversations: newest first, by kind, or those in which words were found.

import * as api from "../api.js";
import {announce, h, say, show} from "../dom.js";
import {day} from "../format.js";
import {t} from "../i18n.js";
import {chatRow, snippet} from "../parts/chats.js";
import {choice} from "../parts/controls.js";
import {attempt} from "../parts/dialog.js";
import {store, watch} from "../store.js";

const PAGE = 30;
const TYPING_MS = 250;
const KINDS = ["all", "voice", "chat", "pane"];

// Kept while the page is open: going back finds the list where it was left.
const kept = {kind: "all", asked: "", chats: [], more: false, top: 0};

export function render(root, _, signal) {
  const title = h("h1", {tabindex: "-1"}, t("history"));
  const search = h("input", {
    type: "search",
    placeholder: t("search"),
    "aria-label": t("search"),
    enterkeyhint: "search",
    autocomplete: "off",
    maxlength: 200,
  });
  search.value = kept.asked;
  const filter = choice(
    t("show"),
    KINDS.map((kind) => [kind, t(`filter ${kind}`)]),
    (kind) => {
      kept.kind = kind;
      load();
    },
  );
  filter.choose(kept.kind);
  const list = h("ul", {class: "chats", "aria-label": t("history")});
  const more = h(
    "button",
    {type: "button", class: "older", hidden: true, onclick: attempt(loadOlder)},
    t("load older"),
  );
  const empty = h("p", {class: "empty", hidden: true});
  const scroll = h("div", {class: "scroll"}, list, empty, more);
  root.append(
    h(
      "section",
      {class: "history"},
      h(
        "header",
        {class: "head"},
        title,
        h(
          "form",
          {
            role: "search",
            onsubmit: (event) => {
              event.preventDefault();
              load();
              search.blur();
            },
          },
          search,
        ),
        filter.element,
      ),
      scroll,
    ),
  );
  scroll.addEventListener(
    "scroll",
    () => {
      kept.top = scroll.scrollTop;
    },
    {passive: true},
  );

  let pause = 0;
  search.addEventListener("input", () => {
    kept.asked = search.value;
    clearTimeout(pause);
    pause = setTimeout(load, TYPING_MS);
  });
  signal.addEventListener("abort", () => clearTimeout(pause));

  const kind = () => (kept.kind === "all" ? null : kept.kind);
  let asking = null;

  async function load() {
    asking?.abort();
    const asked = (asking = new AbortController());
    const until = AbortSignal.any([signal, asked.signal]);
    try {
      if (kept.asked.trim()) await find(until);
      else await page(until);
    } catch (error) {
      if (until.aborted) return;
      list.replaceChildren();
      tell(error.message);
    }
  }

  async function find(until) {
    const q = kept.asked.trim();
    const {results} = await ask(q, until);
    kept.chats = [];
    show(more, false);
    list.replaceChildren(
      ...results.map((found) =>
        chatRow(
          {...found, updated: null},
          {href: `#/chat/${found.uuid}/${found.entry}`, extra: snippet(found.snippet)},
        ),
      ),
    );
    tell(results.length ? "" : t("nothing found"));
    announce(t("found", results.length));
  }

  async function ask(q, until) {
    const answer = await api.post("/api/chats/search", kind() ? {q, kind: kind()} : {q});
    until.throwIfAborted();
    return answer;
  }

  async function page(until) {
    const {chats, more: isMore} = await api.get(
      api.query("/api/chats", {limit: Math.max(PAGE, kept.chats.length), kind: kind()}),
      until,
    );
    kept.chats = chats;
    kept.more = isMore;
    list.replaceChildren(...chats.map((chat) => chatRow(chat)));
    show(more, isMore);
    tell(chats.length ? "" : t(kind() ? "none of these" : "nothing yet"));
  }

  async function loadOlder() {
    const before = kept.chats.at(-1)?.number;
    const {chats, more: isMore} = await api.get(
      api.query("/api/chats", {before, limit: PAGE, kind: kind()}),
      signal,
    );
    kept.chats = [...kept.chats, ...chats];
    list.append(...chats.map((chat) => chatRow(chat)));
    show(more, isMore);
    list.children[kept.chats.length - chats.length]
      ?.querySelector("a")
      .focus({preventScroll: true});
  }

  function tell(text) {
    say(empty, text);
    show(empty, Boolean(text));
  }

  if (kept.chats.length && !kept.asked.trim()) {
    list.replaceChildren(...kept.chats.map((chat) => chatRow(chat)));
    show(more, kept.more);
    scroll.scrollTop = kept.top;
  }
  load().then(() => {
    scroll.scrollTop = kept.top;
  });
  let known = store.conversation?.uuid;
  let forgotten = store.forgotten;
  watch(
    ["forgotten", "conversation"],
    () => {
      for (const uuid of store.forgotten?.conversations ?? [])
        list.querySelector(`[data-uuid="${CSS.escape(uuid)}"]`)?.remove();
      const begun = store.conversation?.begun ? store.conversation.uuid : known;
      // After a deletion too: a list that is on its way may still have it.
      if (begun !== known || store.forgotten !== forgotten) load();
      known = begun;
      forgotten = store.forgotten;
    },
    signal,
  );
  return title;
}
