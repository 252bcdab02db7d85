// Giving text away: what only a secure context allows has another way round, or is not offered.

import {toast} from "../dom.js";
import {t} from "../i18n.js";

export async function copy(text) {
  try {
    if (isSecureContext && navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyByHand(text);
    toast(t("copied"));
  } catch {
    toast(t("not copied"), {bad: true});
  }
}

function copyByHand(text) {
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "unseen";
  const focused = document.activeElement;
  const place = document.querySelector("dialog[open]") ?? document.body;
  place.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  focused?.focus();
  if (!done) throw new Error("copy");
}

export const canShare = () => isSecureContext && Boolean(navigator.share);

export async function share(title, text) {
  try {
    await navigator.share({title, text});
  } catch (error) {
    if (error.name !== "AbortError") toast(t("not shared"), {bad: true});
  }
}
