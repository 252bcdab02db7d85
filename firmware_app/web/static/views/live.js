// The conversation as it happens, and what the next tap begins.

import {h, icon, keepPlace, say, scrolling, set, show} from "../dom.js";
import {t} from "../i18n.js";
import {store, change, watch} from "../store.js";
import * as talk from "../talk.js";
import {composer, pending} from "../parts/composer.js";
import {
  microphoneLine,
  modeControl,
  muteButton,
  savedMark,
  stopButton,
  volumeControl,
} from "../parts/controls.js";
import {attempt} from "../parts/dialog.js";
import {ring, stateLine} from "../parts/ring.js";
import {isChoosing, startCard} from "../parts/start.js";
import {Now, Thread} from "../parts/thread.js";

const EXCHANGES = 8; // shown of a conversation that is carried on

const SHOWN = [
  "conversation",
  "planned",
  "started",
  "waiting",
  "partial",
  "reply",
  "tools",
  "state",
  "messages",
];

export function render(root, _, signal) {
  const title = h("h1", {tabindex: "-1"});
  const start = startCard(signal);
  const compose = composer(start.save, signal);
  const talked = talkedPart(start.element, signal);
  const fresh = h(
    "button",
    {
      type: "button",
      class: "round",
      "aria-label": t("new"),
      title: t("new"),
      onclick: () => change({planned: {chat: null}}),
    },
    icon("add"),
  );
  const view = h(
    "section",
    {class: "live"},
    stage(title, fresh, signal),
    talked.element,
    dock(compose, signal),
  );
  root.append(view);
  stayAtEnd(talked.element, signal);
  watch(
    SHOWN,
    () => {
      const {conversation, planned} = store;
      const choosing = isChoosing();
      set(view, "data-stage", !planned && (choosing || isQuiet()) ? "large" : "small");
      say(title, planned?.chat ? planned.title : (!choosing && conversation.title) || t("echo"));
      show(fresh, !choosing);
      show(start.element, choosing);
      show(compose, !planned);
      talked.show(choosing);
    },
    signal,
  );
  return title;
}

function isQuiet() {
  const {conversation, reply, partial, messages} = store;
  return !conversation?.entries.length && !reply && !partial && !messages.length;
}

function stage(title, fresh, signal) {
  const facts = h("div", {class: "facts"}, microphoneLine(signal), savedMark(signal));
  const about = h("div", {class: "about"}, title, stateLine(signal), facts, detailLine(signal));
  return h("header", {class: "stage"}, ring(signal), about, fresh);
}

function dock(compose, signal) {
  const volume = volumeControl(signal);
  const controls = [
    modeControl(signal),
    volume.button,
    muteButton(signal),
    stopButton(signal),
  ];
  return h(
    "div",
    {class: "dock"},
    volume.box,
    h("div", {class: "row controls"}, controls),
    compose,
  );
}

// The thread, what is on its way into it, and what is said just now.
function talkedPart(start, signal) {
  const thread = new Thread(t("conversation"));
  const now = new Now();
  const more = h(
    "button",
    {
      type: "button",
      class: "small quiet older",
      onclick: attempt(() => talk.older((act) => keepPlace(element, act))),
    },
    t("load older"),
  );
  const whole = h("a", {class: "older"}, t("whole conversation"));
  const notForMe = h(
    "button",
    {type: "button", class: "small quiet", onclick: attempt(talk.notForMe)},
    t("not for me"),
  );
  const element = h(
    "div",
    {class: "scroll", tabindex: "0", role: "region", "aria-label": t("conversation")},
    start,
    more,
    whole,
    thread.element,
    pending(signal),
    now.element,
    notForMe,
    notices(signal),
  );

  function showIt(choosing) {
    const {conversation, planned, state} = store;
    const {entries, at, isCut} = shown(conversation);
    show(thread.element, !choosing);
    show(more, !choosing && !conversation.continued && conversation.more);
    show(whole, !choosing && isCut);
    if (isCut) set(whole, "href", `#/chat/${conversation.uuid}`);
    if (!conversation) thread.clear();
    else if (!choosing) {
      thread.show(entries, {
        uuid: conversation.uuid,
        continuedAt: at,
        title: conversation.title || t("untitled"),
      });
    }
    show(now.element, !planned);
    now.show(store);
    show(notForMe, !choosing && isLastSpoken(entries) && state === "idle");
  }
  return {element, show: showIt};
}

function isLastSpoken(entries) {
  const question = entries.findLast((entry) => entry.kind === "user");
  return question?.input_mode === "voice" && Date.now() / 1000 - (question.created ?? 0) < 120;
}

// Of a conversation that is carried on, the last exchanges from before stand above the new ones.
function shown(conversation) {
  if (!conversation?.continued)
    return {entries: conversation?.entries ?? [], at: null, isCut: false};
  const {entries} = conversation;
  const at = boundary(conversation);
  const old = entries.filter((entry) => entry.number <= at);
  const questions = old.filter((entry) => entry.kind === "user");
  const first = questions.at(-EXCHANGES)?.number ?? 0;
  const isShown = (entry) =>
    entry.number >= first && !(entry.number === at && entry.kind === "notice");
  return {entries: entries.filter(isShown), at, isCut: first > 1 || conversation.more};
}

const carriedOnAt = new Map(); // number of the last entry there was, by conversation

// Carrying on leaves a notice, and with saving off the first entry that is not saved.
function boundary({uuid, entries}) {
  if (!carriedOnAt.has(uuid)) {
    const note = entries.findLast((entry) => entry.kind === "notice");
    const unsaved = entries.find((entry) => entry.saved === false);
    carriedOnAt.set(
      uuid,
      note?.number ?? (unsaved ? unsaved.number - 1 : (entries.at(-1)?.number ?? 0)),
    );
  }
  return carriedOnAt.get(uuid);
}

// New words keep the end in sight, unless the reader has gone up to read.
function stayAtEnd(thread, signal) {
  const boxes = scrolling(thread);
  const atEnd = new Set(boxes);
  const tops = new Map();
  const look = ({currentTarget: box}) => {
    // Words that came meanwhile push the end away, too: only a reader goes up.
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 60) atEnd.add(box);
    else if (box.scrollTop < (tops.get(box) ?? 0)) atEnd.delete(box);
    tops.set(box, box.scrollTop);
  };
  const follow = () => {
    if (!isChoosing()) for (const box of atEnd) box.scrollTop = box.scrollHeight;
  };
  for (const box of boxes) box.addEventListener("scroll", look, {passive: true});
  const observer = new ResizeObserver(follow);
  for (const element of [...boxes, ...thread.children]) observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

function detailLine(signal) {
  const element = h("p", {class: "detail"});
  watch(
    ["detail", "state", "waiting"],
    () => {
      const text = store.waiting
        ? t("waiting for reply")
        : ["error", "reconnecting"].includes(store.state)
          ? store.detail
          : "";
      say(element, text);
      show(element, Boolean(text));
    },
    signal,
  );
  return element;
}

function notices(signal) {
  const list = h("ul", {class: "notices", "aria-label": t("notices")});
  watch(
    ["notices"],
    () => {
      list.replaceChildren(
        ...store.notices.map((notice) =>
          h(
            "li",
            {},
            h("p", {}, notice.text),
            h(
              "button",
              {
                type: "button",
                class: "small quiet",
                onclick: () => change({notices: store.notices.filter((n) => n !== notice)}),
              },
              t("dismiss"),
            ),
          ),
        ),
      );
      show(list, store.notices.length > 0);
    },
    signal,
  );
  return list;
}
