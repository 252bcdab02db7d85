// Elements are made here and nowhere from text: what people said is only ever text.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "quiet", onclick: act, disabled: true}, "Stop")
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

// Nothing is written where nothing changed: screen readers hear every write.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

const PATHS = {
  live: "M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4",
  history: "M4 6h16M4 12h16M4 18h10",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  stop: "M7 7h10v10H7z",
  send: "M12 19V5M6 11l6-6 6 6",
  microphone: "M12 4a3 3 0 0 1 3 3v4a3 3 0 0 1-6 0V7a3 3 0 0 1 3-3ZM6 11a6 6 0 0 0 12 0M12 17v3",
  muted:
    "M9 7a3 3 0 0 1 6 0v4M9 11a3 3 0 0 0 4.5 2.6M6 11a6 6 0 0 0 9.5 4.9M18 11v1M12 17v3M4 4l16 16",
  volume: "M4 10v4h3l4 3.5v-11L7 10zM15 9.5a4 4 0 0 1 0 5M17.5 7a7.5 7.5 0 0 1 0 10",
  typed: "M4 7h16v10H4zM8 14h8M7 10.5h1M11.5 10.5h1M16 10.5h1",
  pane: "M4 5h16v14H4zM7 9l3 3-3 3M12 15h4",
  back: "M14 6l-6 6 6 6",
  add: "M12 5v14M5 12h14",
  open: "M10 6l6 6-6 6",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

// Either a thread scrolls or, on low screens, the whole view around it.
export const scrolling = (thread) => [thread, thread.parentElement];

export const toEnd = (thread) => {
  for (const box of scrolling(thread)) box.scrollTop = box.scrollHeight;
};

// Runs what adds words above those that are seen; they stay where they are.
export async function keepPlace(thread, act) {
  const below = scrolling(thread).map((box) => box.scrollHeight - box.scrollTop);
  await act();
  for (const [n, box] of scrolling(thread).entries()) box.scrollTop = box.scrollHeight - below[n];
}

let announcer;

// Said by a screen reader when it has said what it is saying.
export function announce(text) {
  announcer ??= document.getElementById("announcer");
  const line = h("p", {}, text);
  announcer.append(line);
  while (announcer.children.length > 6) announcer.firstChild.remove();
}

// What was deleted is not left to be heard.
export const hush = () => announcer?.replaceChildren();

// A line that passes; bad ones stay until they are tapped away.
export function toast(text, {bad = false, action = null} = {}) {
  const box = h("div", {class: bad ? "toast bad" : "toast", role: bad ? "alert" : "status"});
  const gone = () => box.remove();
  box.append(h("p", {}, text));
  if (action)
    box.append(
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            gone();
            action.run();
          },
        },
        action.text,
      ),
    );
  box.addEventListener("click", gone);
  document.getElementById("toasts").replaceChildren(box);
  if (!bad) setTimeout(gone, 6000);
}
