// The open conversation: what the live events make of it, and what the page asks of it.

import * as api from "./api.js";
import {announce, hush} from "./dom.js";
import {t} from "./i18n.js";
import {change, store} from "./store.js";

const NOTICES = 3;
const SESSIONS = "/api/voice/sessions";
const CURRENT = `${SESSIONS}/current`;
const MESSAGES = `${CURRENT}/messages`;
const REFUSALS = [503, 507]; // nothing was done: not awake, cannot be saved
const ANNOUNCED_STATES = ["listening", "muted", "error", "reconnecting"];

// --- what is heard of it

const HANDLERS = {
  ready({situation, conversation, resumed, restarted}) {
    change({
      state: situation.state,
      detail: situation.detail,
      mode: situation.mode,
      muted: situation.muted,
      closed: situation.microphone_closed,
      ringing: situation.ringing,
      saved: situation.saved,
    });
    const isSame = resumed && conversation?.uuid === store.conversation?.uuid;
    if (!isSame) open(conversation);
    else if (conversation) again(conversation, {isLatest: true});
    if (!resumed) refreshSettings().catch(() => {}); // asked again where they are shown
    if (restarted)
      change({
        messages: store.messages.map((m) => (m.state === "unknown" ? {...m, restarted: true} : m)),
      });
    checkUnknown();
  },
  state({state, detail}) {
    if (state !== store.state && ANNOUNCED_STATES.includes(state)) announce(t(`state ${state}`));
    change({state, detail: detail ?? "", ...(state === "listening" && {partial: ""})});
    if (["idle", "muted"].includes(state)) settleCommands();
  },
  partial: ({text}) => change({partial: text}),
  entry(entry) {
    heardOf.replies += 1;
    if (store.conversation?.uuid !== entry.conversation) return void refresh();
    const isFirst = !store.conversation.begun;
    take([entry]);
    if (isFirst) refresh(); // it has a title now
    if (entry.kind === "user") {
      const messages = store.messages.filter((message) => message.state !== "done");
      change({partial: "", messages, ...(store.reply?.ended && {reply: null})});
    }
    if (entry.kind === "assistant") change({reply: null, tools: []});
    if (entry.kind === "tool") change({tools: []});
  },
  clause({text}) {
    heardOf.replies += 1;
    const before = store.reply && !store.reply.ended ? store.reply.text : "";
    const space = before && !/\s$/.test(before) && !/^\s/.test(text) ? " " : "";
    change({reply: {text: before + space + text, ended: false, status: "complete"}, partial: ""});
    announce(text);
  },
  reply({status}) {
    heardOf.replies += 1;
    if (store.reply) change({reply: {...store.reply, ended: true, status}});
    if (status !== "complete") announce(t(`status ${status}`));
  },
  dropped: () => change({partial: ""}),
  notice(notice) {
    change({notices: [...store.notices, notice].slice(-NOTICES)});
    announce(notice.text);
  },
  tool: (tool) => change({tools: [...store.tools, tool]}),
  opened({conversation, ready}) {
    lastOpened = conversation;
    if (ready) change({waiting: false});
    if (conversation) refresh();
    else open(null); // another person's
  },
  forgotten(forgotten) {
    change({forgotten});
    hush();
    const {conversation, planned} = store;
    if (forgotten.conversations.includes(planned?.chat)) change({planned: null});
    if (!conversation) return;
    if (forgotten.conversations.includes(conversation.uuid)) return open(null);
    const numbers = new Set(forgotten.entries[conversation.uuid] ?? []);
    if (numbers.size) {
      const entries = conversation.entries.filter((entry) => !numbers.has(entry.number));
      change({conversation: {...conversation, entries}});
    }
  },
  saved: ({status}) => change({saved: status}),
  mode({mode}) {
    if (mode !== store.mode) announce(t(`mode ${mode} now`));
    change({mode});
  },
  mute: ({muted, closed}) => change({muted, closed}),
  setting({name, value}) {
    heardOf.settings += 1;
    const known = store.settings?.[name];
    if (known) change({settings: {...store.settings, [name]: {...known, value}}});
  },
  ringing: ({ringing, name}) => change({ringing: ringing ? name : null}),
  revoked: () => document.dispatchEvent(new Event("unpaired")),
};

let lastOpened = null; // its event may come before the answer to what asked for it
const heardOf = {settings: 0, replies: 0}; // events since the page came

export function heard(name, data) {
  HANDLERS[name]?.(data);
}

function open(conversation) {
  const reply = conversation?.reply
    ? {text: conversation.reply, ended: false, status: "complete"}
    : null;
  change({
    conversation,
    reply,
    partial: "",
    tools: [],
    messages: store.messages.filter((m) => !["accepted", "done"].includes(m.state)),
  });
}

// A typed command is obeyed and is no entry: when Echo rests again, it is done.
function settleCommands() {
  const last = store.conversation?.last_number ?? 0;
  const isDone = ({state, number}) => state === "accepted" && number > last;
  change({
    messages: store.messages.map((message) =>
      isDone(message) ? {...message, state: "done"} : message,
    ),
  });
}

// The same conversation, told anew: older entries that were loaded stay, and so does the answer in
// progress where the events have told more of it since.
function again(conversation, {isLatest}) {
  const reply = conversation.reply
    ? {text: conversation.reply, ended: false, status: "complete"}
    : null;
  const {entries} = store.conversation;
  change({
    conversation: {...conversation, entries},
    ...(isLatest && !store.reply?.ended && {reply}),
  });
  take(conversation.entries);
}

// Entries come once, in their order, whichever way they come.
function take(entries) {
  const {conversation} = store;
  const byNumber = new Map(conversation.entries.map((entry) => [entry.number, entry]));
  for (const entry of entries) byNumber.set(entry.number, entry);
  const all = [...byNumber.values()].sort((a, b) => a.number - b.number);
  const last = Math.max(conversation.last_number, all.at(-1)?.number ?? 0);
  change({
    conversation: {
      ...conversation,
      entries: all,
      last_number: last,
      begun: conversation.begun || all.length > 0,
    },
    messages: store.messages.filter((message) => !entries.some((entry) => isOf(entry, message))),
  });
}

function isOf(entry, message) {
  if (entry.kind !== "user" || entry.number !== message.number) return false;
  return message.state === "accepted" || entry.text.trim() === message.text.trim();
}

let refreshing = null;

// The open conversation as the device has it; another owner's is none.
export async function refresh() {
  refreshing?.abort();
  const {signal} = (refreshing = new AbortController());
  const before = heardOf.replies;
  try {
    const conversation = await api.get(CURRENT, signal);
    if (signal.aborted) return;
    const isLatest = heardOf.replies === before;
    if (store.conversation?.uuid === conversation.uuid) again(conversation, {isLatest});
    else open(conversation);
  } catch (error) {
    if (error instanceof api.Problem && error.status === 404) open(null);
  }
}

// hold(act): runs it so that what is seen stays where it is.
export async function older(hold) {
  const first = store.conversation.entries[0];
  const page = await api.get(api.query(CURRENT, {before: first?.number}));
  if (page.uuid !== store.conversation?.uuid) return;
  await hold(() => {
    change({conversation: {...store.conversation, more: page.more}});
    take(page.entries);
  });
}

export async function refreshSettings() {
  const before = heardOf.settings;
  const {settings} = await api.get("/api/settings");
  if (heardOf.settings !== before) return refreshSettings(); // one was changed meanwhile
  change({settings: Object.fromEntries(settings.map((setting) => [setting.name, setting]))});
}

// --- what is asked of it

// chat: carry that one on. fresh: end the open one and begin another.
export async function begin({chat = null, fresh = false, save = null, mode = null} = {}) {
  const asked = Object.fromEntries(
    Object.entries({chat, new: fresh || null, save, mode}).filter(([, value]) => value !== null),
  );
  const {conversation, ready} = await api.post(SESSIONS, asked);
  change({planned: null, started: conversation, waiting: !ready && lastOpened !== conversation});
  await refresh();
}

export const stop = () => api.post("/api/voice/stop");
export const notForMe = () => api.post("/api/voice/false-wake");

// What came of it the events tell: an answer may come after what somebody else did next.
export const setMode = (mode) => api.put("/api/voice/mode", {mode});
export const setMuted = (muted) => api.put("/api/voice/mute", {muted});
export const setSetting = (name, value) =>
  api.put(`/api/settings/${encodeURIComponent(name)}`, {value});

// --- typed messages: one message for one key, whatever the network does

// randomUUID wants a secure context, which a home network seldom is.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

function mark(key, values) {
  change({
    messages: store.messages.map((message) =>
      message.key === key ? {...message, ...values} : message,
    ),
  });
}

export function send(text, save) {
  const message = {key: newKey(), text, number: null, state: "sending", why: "", save};
  change({messages: [...store.messages, message]});
  return inTurn(message.key);
}

export function retry(key) {
  mark(key, {state: "sending", why: ""});
  return inTurn(key);
}

let delivery = Promise.resolve();

function inTurn(key) {
  delivery = delivery.then(() => deliver(key));
  return delivery;
}

export function discard(key) {
  change({messages: store.messages.filter((message) => message.key !== key)});
}

async function deliver(key) {
  const message = store.messages.find((one) => one.key === key);
  try {
    const isNew = !store.conversation?.begun;
    if (!store.conversation || (isNew && message.save !== null)) await begin({save: message.save});
    const number = await post(message, nextNumber());
    accepted(key, number);
  } catch (error) {
    const refused =
      error instanceof api.Problem && (error.status < 500 || REFUSALS.includes(error.status));
    if (refused) return mark(key, {state: "failed", why: error.message});
    mark(key, {state: "unknown"});
    await check(key);
  }
}

// Numbers are given out here too: two messages that wait must not ask for the same.
function nextNumber() {
  const taken = store.messages
    .filter(({state}) => ["accepted", "done"].includes(state))
    .map(({number}) => number);
  return Math.max(store.conversation?.last_number ?? 0, ...taken) + 1;
}

async function post({key, text}, number, again = true) {
  mark(key, {number});
  try {
    return (await api.post(MESSAGES, {number, key, parts: [{type: "text", text}]})).number;
  } catch (error) {
    if (!again || !(error instanceof api.Problem) || error.status !== 409) throw error;
    if (!Number.isInteger(error.body.last_id)) throw error;
    return post({key, text}, error.body.last_id + 1, false);
  }
}

function accepted(key, number) {
  const message = store.messages.find((one) => one.key === key);
  const there = store.conversation?.entries.some(
    (entry) => message && isOf(entry, {...message, number}),
  );
  if (there) discard(key);
  else mark(key, {state: "accepted", number});
}

// Whether a message arrived whose fate is unknown. Nothing is sent.
async function check(key) {
  try {
    const {number} = await api.get(`${MESSAGES}/${encodeURIComponent(key)}`);
    accepted(key, number);
  } catch (error) {
    const message = store.messages.find((one) => one.key === key);
    const isNotThere = error instanceof api.Problem && error.status === 404;
    // A device that was restarted meanwhile remembers no keys: there, not to know is no no.
    if (isNotThere && !message?.restarted) mark(key, {state: "failed", why: t("did not arrive")});
  }
}

async function checkUnknown() {
  for (const {key} of store.messages.filter((message) => message.state === "unknown"))
    await check(key);
}
