// What the page knows. Views watch names; a change tells those who watch one of its names.

export const store = {
  session: null, // {paired, owner, name, secure, language}
  connected: null, // null until the first answer
  state: "starting",
  detail: "",
  mode: "voice",
  muted: false,
  closed: false, // the capture device, as it reports
  ringing: null, // name of what rings
  saved: "saved",
  conversation: null, // the open one, from memory: {uuid, title, entries, last_number, …}
  partial: "",
  reply: null, // {text, ended, status}: the answer in progress
  tools: [], // what skills did in this turn
  notices: [],
  forgotten: null, // the last deletion: {conversations, entries}
  settings: null, // by name
  planned: null, // what the next tap begins: {chat, title, text}
  started: "", // uuid of what was begun here, though nothing is said yet
  waiting: false, // begun, and not ready until a reply is answered
  messages: [], // typed and not yet entries: {key, text, number, state}
  installPrompt: null, // what the browser would ask, where it offers to install the page
};

const watchers = new Set();

export function change(values) {
  const names = Object.keys(values).filter((name) => store[name] !== values[name]);
  if (!names.length) return;
  Object.assign(store, values);
  for (const watcher of [...watchers]) {
    if (watchers.has(watcher) && names.some((name) => watcher.names.includes(name))) watcher.act();
  }
}

// Acts now and at each change, until the signal is aborted.
export function watch(names, act, signal) {
  const watcher = {names, act};
  watchers.add(watcher);
  signal?.addEventListener("abort", () => watchers.delete(watcher));
  act();
}
