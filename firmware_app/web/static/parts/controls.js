// What is always in reach: the mode, the microphone, the volume, stop.

import {h, icon, say, set, show} from "../dom.js";
import {t} from "../i18n.js";
import {store, watch} from "../store.js";
import * as talk from "../talk.js";
import {attempt} from "./dialog.js";

// One of several: radio buttons that look like one control.
export function choice(label, options, onchange) {
  const name = `choice-${label}`;
  const inputs = options.map(([value, text]) => {
    const input = h("input", {type: "radio", name, value, onchange: () => onchange(value)});
    return [value, input, h("label", {}, input, h("span", {}, text))];
  });
  const element = h(
    "fieldset",
    {class: "choice"},
    h("legend", {class: "unseen"}, label),
    inputs.map(([, , item]) => item),
  );
  const choose = (chosen) => {
    for (const [value, input] of inputs) input.checked = value === chosen;
  };
  return {element, choose};
}

export function toggle(label, onchange, checked = false) {
  const input = h("input", {
    type: "checkbox",
    role: "switch",
    onchange: () => onchange(input.checked),
  });
  input.checked = checked;
  return {element: h("label", {class: "switch"}, input, h("span", {}, label)), input};
}

export function slider({label, min, max, step = 1, onchange, unit = (value) => String(value)}) {
  const output = h("output", {});
  const input = h("input", {type: "range", min, max, step, "aria-label": label});
  const tell = () => {
    say(output, unit(Number(input.value)));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  let held = false;
  input.addEventListener("input", () => {
    held = true;
    tell();
  });
  input.addEventListener("change", () => {
    held = false;
    onchange(Number(input.value));
  });
  const put = (value) => {
    if (held) return;
    input.value = value;
    tell();
  };
  return {element: h("div", {class: "slider"}, input, output), put, input};
}

export function modeControl(signal) {
  const control = choice(
    t("mode"),
    [
      ["voice", t("mode voice")],
      ["text", t("mode text")],
    ],
    orBack(
      (mode) => talk.setMode(mode),
      () => control.choose(store.mode),
    ),
  );
  watch(["mode"], () => control.choose(store.mode), signal);
  return control.element;
}

// A change that is refused goes back to what is.
function orBack(act, back) {
  return (value) =>
    attempt(async () => {
      try {
        await act(value);
      } catch (error) {
        back();
        throw error;
      }
    })();
}

export function muteButton(signal) {
  const mark = h("span", {});
  const button = h(
    "button",
    {type: "button", class: "round", onclick: attempt(() => talk.setMuted(!store.muted))},
    mark,
  );
  watch(
    ["muted"],
    () => {
      mark.replaceChildren(icon(store.muted ? "muted" : "microphone"));
      set(button, "aria-pressed", String(store.muted));
      set(button, "aria-label", t("mute"));
      set(button, "title", t(store.muted ? "unmute" : "mute"));
    },
    signal,
  );
  return button;
}

// What the device reports, not what was wished.
export function microphoneLine(signal) {
  const element = h("p", {class: "microphone"});
  watch(
    ["muted", "closed", "mode", "connected"],
    () => {
      say(element, store.connected ? t(microphone()) : "");
      set(element, "data-closed", store.closed);
    },
    signal,
  );
  return element;
}

function microphone() {
  if (store.closed)
    return store.muted
      ? "microphone off"
      : store.mode === "text"
        ? "microphone off for text"
        : "microphone closed";
  if (store.muted) return "microphone closing";
  return store.mode === "text" ? "microphone closing" : "microphone on";
}

export function stopButton(signal) {
  const button = h(
    "button",
    {
      type: "button",
      class: "round stop",
      "aria-label": t("stop"),
      title: t("stop"),
      onclick: attempt(talk.stop),
    },
    icon("stop"),
  );
  watch(
    ["state", "ringing"],
    () => {
      button.disabled =
        store.ringing === null && !["listening", "thinking", "speaking"].includes(store.state);
    },
    signal,
  );
  return button;
}

const VOLUME = "voice.volume";

export function volumeControl(signal) {
  const control = slider({
    label: t("volume"),
    min: 0,
    max: 100,
    step: 5,
    unit: (value) => t("percent", value),
    onchange: orBack(
      (value) => talk.setSetting(VOLUME, value),
      () => control.put(store.settings[VOLUME].value),
    ),
  });
  const box = h("div", {class: "volume", id: "volume", hidden: true}, control.element);
  const button = h(
    "button",
    {
      type: "button",
      class: "round",
      "aria-label": t("volume"),
      title: t("volume"),
      "aria-expanded": "false",
      "aria-controls": "volume",
      onclick: () => {
        show(box, box.hidden);
        set(button, "aria-expanded", String(!box.hidden));
        if (!box.hidden) control.input.focus();
      },
    },
    icon("volume"),
  );
  watch(
    ["settings"],
    () => {
      const setting = store.settings?.[VOLUME];
      show(button, Boolean(setting));
      if (setting) control.put(setting.value);
    },
    signal,
  );
  return {button, box};
}

export function savedMark(signal) {
  const element = h("p", {class: "saved"});
  watch(
    ["saved", "conversation"],
    () => {
      say(element, t(store.saved));
      set(element, "data-saved", store.saved);
    },
    signal,
  );
  return element;
}
