// The page as an app. Browsers offer it on secure pages alone, and once: soon after the page came.

import {h, show} from "../dom.js";
import {t} from "../i18n.js";
import {change, store, watch} from "../store.js";
import {attempt} from "./dialog.js";

addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  change({installPrompt: event});
});
addEventListener("appinstalled", () => change({installPrompt: null}));

export function installButton(signal) {
  const button = h(
    "button",
    {
      type: "button",
      onclick: attempt(async () => {
        const {installPrompt} = store;
        change({installPrompt: null}); // it asks once
        await installPrompt.prompt();
      }),
    },
    t("install"),
  );
  watch(["installPrompt"], () => show(button, Boolean(store.installPrompt)), signal);
  return button;
}
