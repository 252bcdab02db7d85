// Twelve dots, as on the device: the page shows the light that stands in the room.

import {h, say, set} from "../dom.js";
import {t} from "../i18n.js";
import {store, watch} from "../store.js";

const DOTS = 12;

export function ring(signal) {
  const dots = Array.from({length: DOTS}, (_, n) => {
    const dot = h("i");
    dot.style.setProperty("--n", n);
    return dot;
  });
  const element = h("div", {class: "ring", "aria-hidden": "true"}, dots, h("b"));
  watch(
    ["state", "ringing", "saved", "connected"],
    () => {
      set(element, "data-state", look());
      set(element, "data-saved", store.saved === "saved");
    },
    signal,
  );
  return element;
}

function look() {
  if (store.connected === false) return "lost";
  return store.ringing === null ? store.state : "ringing";
}

export function stateText() {
  if (store.connected === false) return t("not connected");
  if (store.ringing !== null) return t("ringing", store.ringing);
  return t(`state ${store.state}`);
}

export function stateLine(signal) {
  const element = h("p", {class: "state"});
  watch(["state", "ringing", "connected"], () => say(element, stateText()), signal);
  return element;
}
