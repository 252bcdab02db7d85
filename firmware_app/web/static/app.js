// Begins the page: who is here, in which language, and which view.

import * as api from "./api.js";
import {h, icon, set, show} from "./dom.js";
import {choose, t} from "./i18n.js";
import "./parts/install.js";
import {change, store} from "./store.js";
import {Stream} from "./stream.js";
import {heard} from "./talk.js";
import * as live from "./views/live.js";

const RETRY_MS = 3000;

const VIEWS = {
  "": async () => live,
  history: () => import("./views/history.js"),
  chat: () => import("./views/chat.js"),
  settings: () => import("./views/settings.js"),
};
const TABS = [
  ["", "live"],
  ["history", "history"],
  ["settings", "settings"],
];

// Who comes with a code wants to be paired, be it anew and for another owner.
const hasCode = () => location.hash.startsWith("#pair=");

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let leaving = new AbortController();
let stream = null;
let latest = null; // what was asked to be shown last

async function start() {
  let session;
  for (;;) {
    try {
      session = await api.get("/api/session");
      break;
    } catch (error) {
      await ready(null);
      main.replaceChildren(h("p", {class: "empty", role: "alert"}, t("no answer yet")));
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  await choose(session.language);
  change({session});
  if (!session.paired) await pairing();
  else if (hasCode()) await pairing({back: true});
  else enter();
}

async function ready(language) {
  try {
    t("cancel");
  } catch {
    await choose(language);
  }
}

function enter() {
  nav.replaceChildren(
    ...TABS.map(([name, label]) =>
      h("a", {href: `#/${name}`}, icon(label), h("span", {}, t(label))),
    ),
  );
  set(nav, "aria-label", t("views"));
  show(nav, true);
  stream = new Stream(heard, (connected) => change({connected}));
  stream.open();
  if (!location.hash.startsWith("#/")) history.replaceState(null, "", `${location.pathname}#/`);
  route();
}

// back: whether there is a way back, for a phone that is paired already.
async function pairing({back = false} = {}) {
  stream?.close();
  stream = null;
  show(nav, false);
  change({
    conversation: null,
    planned: null,
    settings: null,
    messages: [],
    notices: [],
    partial: "",
    reply: null,
    ringing: null,
    saved: "saved",
    session: {...store.session, paired: false},
  });
  const asked = (latest = {});
  const view = await import("./views/pair.js");
  if (asked !== latest) return; // a later one takes the code out of the address
  put((signal) => view.render(main, signal, {paired: start, back}))?.focus();
}

function put(render) {
  leaving.abort();
  leaving = new AbortController();
  for (const box of document.querySelectorAll("dialog")) box.close();
  main.replaceChildren();
  return render(leaving.signal);
}

let isFirst = true;

async function route() {
  if (!store.session?.paired) return;
  const [, name = "", ...rest] = location.hash.split("/");
  const load = Object.hasOwn(VIEWS, name) ? VIEWS[name] : VIEWS[""];
  for (const [n, [tab]] of TABS.entries()) {
    const here = tab === (name === "chat" ? "history" : name);
    set(nav.children[n], "aria-current", here ? "page" : null);
  }
  const asked = (latest = {});
  const view = await load();
  if (asked !== latest) return;
  const heading = await put((signal) => view.render(main, rest, signal));
  if (!heading?.isConnected) return;
  document.title = name ? `${heading.textContent} · Echo` : "Echo";
  if (!isFirst) heading.focus({preventScroll: true});
  isFirst = false;
}

addEventListener("hashchange", () => {
  if (!store.session) return; // it is still being asked who this is
  if (!store.session.paired) pairing();
  else if (hasCode()) pairing({back: true});
  else route();
});
document.addEventListener("unpaired", () => {
  if (store.session?.paired) pairing();
});
start();
