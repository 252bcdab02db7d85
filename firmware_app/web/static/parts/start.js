// What may begin: a new conversation, or one that is carried on.

import * as api from "../api.js";
import {h, icon, say, set, show} from "../dom.js";
import {t} from "../i18n.js";
import {change, store, watch} from "../store.js";
import * as talk from "../talk.js";
import {chatRow} from "./chats.js";
import {toggle} from "./controls.js";
import {attempt} from "./dialog.js";

const LATEST = 8;
const SAVE = "voice.save_conversations";

// Whether there is nothing to follow, but something to begin.
export function isChoosing() {
  const {conversation, planned, started, partial, reply, messages, state} = store;
  if (planned || !conversation) return true;
  const isHappening =
    partial || reply || messages.length || ["listening", "thinking", "speaking"].includes(state);
  return !conversation.begun && !isHappening && started !== conversation.uuid;
}

// What begins is chosen here, and begins with the next tap.
export function startCard(signal) {
  let chosen = null;
  const save = toggle(t("save this one"), (value) => {
    chosen = value;
  });
  const go = (options) => attempt(() => talk.begin({save: chosen, ...options}));
  const head = h("h2", {});
  const explained = h("p", {class: "hint"});
  const tap = h("button", {type: "button"});
  const typing = h("button", {type: "button"}, icon("typed"), t("by typing"));
  const instead = h("button", {type: "button", class: "quiet"}, t("new instead"));
  const cancel = h(
    "button",
    {type: "button", class: "quiet", onclick: () => change({planned: null})},
    t("cancel"),
  );
  const card = h(
    "div",
    {class: "card start"},
    head,
    explained,
    save.element,
    h("div", {class: "row grow"}, tap, typing),
    h("div", {class: "row"}, instead, cancel),
  );
  const latest = h("ul", {class: "chats"});
  const box = h("div", {class: "latest"}, h("h2", {}, t("latest")), latest);
  const element = h("div", {}, card, box);

  const planned = () => store.planned;
  const chat = () =>
    planned()?.chat ? {chat: planned().chat} : {fresh: Boolean(store.conversation?.begun)};
  tap.addEventListener("click", (event) =>
    go({...chat(), mode: store.mode === "text" ? "voice" : null})(event),
  );
  typing.addEventListener("click", (event) => go({...chat(), mode: "text"})(event));
  instead.addEventListener("click", (event) => go({fresh: true})(event));

  watch(
    ["planned", "conversation", "mode", "waiting"],
    () => {
      const plan = planned();
      say(head, plan?.chat ? t("continue one", plan.title) : t("start one"));
      say(explained, t(plan?.chat ? "continue explained" : "start explained"));
      say(tap, t(store.mode === "text" ? "by voice" : plan?.chat ? "continue" : "start"));
      set(typing, "class", plan?.typing ? "primary" : null);
      set(tap, "class", plan?.typing ? null : "primary");
      show(instead, Boolean(plan?.chat));
      show(cancel, Boolean(plan));
      show(box, !plan?.chat);
    },
    signal,
  );
  watch(
    ["settings"],
    () => {
      const setting = store.settings?.[SAVE];
      save.input.disabled = !setting; // what is not known yet cannot be turned over
      if (chosen === null && setting) save.input.checked = setting.value;
    },
    signal,
  );
  watch(
    ["conversation", "planned", "forgotten", "connected"],
    () => {
      if (store.connected && isChoosing()) listLatest(latest, signal);
    },
    signal,
  );
  return {element, save: () => chosen};
}

async function listLatest(list, signal) {
  try {
    const {chats} = await api.get(api.query("/api/chats/latest", {limit: LATEST}), signal);
    list.replaceChildren(...chats.map((chat) => chatRow(chat)));
    if (!chats.length) list.append(h("li", {class: "empty"}, t("nothing yet")));
  } catch (error) {
    if (!signal.aborted) list.replaceChildren(h("li", {class: "empty"}, error.message));
  }
}
