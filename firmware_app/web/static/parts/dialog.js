// A question put in front of the page. The browser keeps the focus inside and gives it back.

import {h, toast} from "../dom.js";
import {t} from "../i18n.js";

// content: nodes. act: done when confirmed; what it throws is shown, and the dialog stays.
export function ask({title, content, confirm, act, danger = false}) {
  const why = h("p", {class: "why", role: "alert", hidden: true});
  const yes = h("button", {type: "submit", class: danger ? "danger" : "primary"}, confirm);
  const no = h(
    "button",
    {type: "button", class: "quiet", onclick: () => dialog.close()},
    t("cancel"),
  );
  const form = h(
    "form",
    {method: "dialog"},
    h("h2", {id: "asked"}, title),
    content,
    why,
    h("div", {class: "row end"}, no, yes),
  );
  const dialog = h("dialog", {"aria-labelledby": "asked"}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try {
      await act(new FormData(form));
      dialog.close();
    } catch (error) {
      why.textContent = error.message;
      why.hidden = false;
    } finally {
      yes.disabled = false;
    }
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// Runs what a button does, once at a time; a failure is said, never swallowed.
export function attempt(act) {
  return async (event) => {
    const button = event?.currentTarget instanceof HTMLButtonElement ? event.currentTarget : null;
    if (button?.hasAttribute("aria-busy")) return;
    button?.setAttribute("aria-busy", "true");
    try {
      await act(event);
    } catch (error) {
      toast(error.message, {bad: true});
    } finally {
      button?.removeAttribute("aria-busy");
    }
  };
}
