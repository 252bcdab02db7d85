// Getting in: a code that Echo shows or speaks. Nothing else is here for a stranger.

import * as api from "../api.js";
import {h, say, set, show} from "../dom.js";
import {t} from "../i18n.js";
import {ring, stateLine} from "../parts/ring.js";
import {change, store} from "../store.js";

const CODE = /^#pair=(\d{6}|\d{8})$/; // spoken by Echo: six digits; shown by `hey-echo pair`: eight
const STATUS_MS = 5000;

// paired(): goes on, once it is. back: whether it is already, and may go on without.
export function render(root, signal, {paired, back}) {
  const title = h("h1", {tabindex: "-1"}, t("pair"));
  const code = h("input", {
    id: "code",
    name: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    pattern: "[0-9 ]{6,9}",
    maxlength: 9,
    required: true,
    class: "code",
    "aria-describedby": "why",
  });
  const name = h("input", {
    id: "name",
    name: "name",
    maxlength: 40,
    autocomplete: "off",
    required: true,
    value: guessName(),
  });
  const why = h("p", {class: "why", id: "why", role: "alert", hidden: true});
  const button = h("button", {type: "submit", class: "primary"}, t("pair this phone"));
  const form = h(
    "form",
    {class: "card"},
    h("label", {for: "code"}, t("code")),
    code,
    h("label", {for: "name"}, t("phone name")),
    name,
    why,
    button,
    back ? h("button", {type: "button", class: "quiet", onclick: paired}, t("cancel")) : null,
  );
  const found = CODE.exec(location.hash);
  if (found) {
    code.value = found[1];
    history.replaceState(null, "", location.pathname); // a code stays in no history
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    show(why, false);
    try {
      await api.post("/api/pair", {code: code.value.replaceAll(" ", ""), name: name.value.trim()});
      await paired();
    } catch (error) {
      say(why, error.message);
      show(why, true);
      set(code, "aria-invalid", "true");
      code.select();
    } finally {
      button.disabled = false;
    }
  });
  root.append(
    h(
      "section",
      {class: "pair"},
      h(
        "div",
        {class: "scroll"},
        h(
          "header",
          {class: "stage"},
          ring(signal),
          h("div", {class: "about"}, title, stateLine(signal)),
        ),
        h("ol", {class: "steps"}, h("li", {}, t("pair by button")), h("li", {}, t("pair by ssh"))),
        form,
        store.session.secure ? null : h("p", {class: "missing"}, t("not secure")),
      ),
    ),
  );
  follow(signal);
  return title;
}

// The light as any visitor sees it, without a word of what is said.
async function follow(signal) {
  while (!signal.aborted) {
    if (document.visibilityState === "visible") {
      try {
        const {
          state,
          muted,
          microphone_closed: closed,
          mode,
        } = await api.get("/api/status", signal);
        change({state, muted, closed, mode, connected: true});
      } catch {
        if (!signal.aborted) change({connected: false});
      }
    }
    await new Promise((resolve) => setTimeout(resolve, STATUS_MS));
  }
}

function guessName() {
  const agent = navigator.userAgent;
  const names = ["iPhone", "iPad", "Android", "Windows", "Macintosh", "Linux"];
  return names.find((one) => agent.includes(one)) ?? "";
}
