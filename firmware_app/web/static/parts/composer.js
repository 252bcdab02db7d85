// The box to type in, and what became of each message that was typed.

import {h, icon, say, show} from "../dom.js";
import {t} from "../i18n.js";
import {store, watch} from "../store.js";
import * as talk from "../talk.js";
import {copy} from "./share.js";

const LONGEST = 4000;

// saveWanted(): whether a conversation that this message begins is saved; null: as set.
export function composer(saveWanted, signal) {
  const box = h("textarea", {
    id: "message",
    rows: 1,
    maxlength: LONGEST,
    placeholder: t("type here"),
    "aria-label": t("message"),
    enterkeyhint: "send",
    autocomplete: "off",
  });
  const button = h(
    "button",
    {type: "submit", class: "send", "aria-label": t("send"), title: t("send")},
    icon("send"),
  );
  const hint = h("p", {class: "hint", id: "composer-hint"});
  box.setAttribute("aria-describedby", "composer-hint");
  const form = h("form", {class: "composer"}, hint, h("div", {class: "box"}, box, button));

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = box.value.trim();
    if (!text) return;
    box.value = "";
    fit();
    talk.send(text, saveWanted());
  });
  box.addEventListener("keydown", (event) => {
    // A phone's keyboard has its own way to send; a real one sends with Enter.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  box.addEventListener("input", fit);
  function fit() {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
    button.disabled = !box.value.trim();
  }
  button.disabled = true;
  watch(
    ["mode", "state"],
    () => {
      const busy = ["thinking", "speaking"].includes(store.state);
      const key =
        store.mode === "text"
          ? "answered in writing"
          : busy
            ? "answered aloud after"
            : "answered aloud";
      say(hint, t(key));
    },
    signal,
  );
  return form;
}

export function pending(signal) {
  const list = h("ol", {class: "thread pending", "aria-label": t("on the way")});
  watch(
    ["messages"],
    () => {
      list.replaceChildren(...store.messages.map(messageItem));
      show(list, store.messages.length > 0);
    },
    signal,
  );
  return list;
}

function messageItem({key, text, state, why}) {
  const actions = [];
  if (state === "failed") {
    actions.push(
      h("button", {type: "button", class: "small", onclick: () => talk.retry(key)}, t("try again")),
    );
  }
  if (state === "failed" || state === "unknown") {
    actions.push(
      h("button", {type: "button", class: "small quiet", onclick: () => copy(text)}, t("copy")),
    );
    actions.push(
      h(
        "button",
        {type: "button", class: "small quiet", onclick: () => talk.discard(key)},
        t("remove"),
      ),
    );
  }
  return h(
    "li",
    {class: `entry user message ${state}`},
    h("p", {class: "who"}, t("you typed")),
    h("p", {class: "text"}, text),
    h(
      "p",
      {class: "marks", role: state === "failed" || state === "unknown" ? "alert" : null},
      h("span", {class: "mark"}, t(`message ${state}`)),
      why ? h("span", {}, why) : null,
    ),
    actions.length ? h("div", {class: "row"}, actions) : null,
  );
}
