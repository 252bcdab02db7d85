// Conversations as rows of a list.

import {h, icon} from "../dom.js";
import {day, length} from "../format.js";
import {t} from "../i18n.js";

const ICONS = {voice: "microphone", chat: "typed", pane: "pane"};

// extra: nodes below the title, in the place of the first words.
export function chatRow(chat, {href = `#/chat/${chat.uuid}`, extra = null} = {}) {
  const marks = ["interrupted", "incomplete", "continued"]
    .filter((name) => chat[name] === true || chat.state === name)
    .map((name) => h("span", {class: "mark"}, t(name)));
  const lasted = length(chat.created, chat.updated);
  return h(
    "li",
    {"data-uuid": chat.uuid},
    h(
      "a",
      {class: "chat", href},
      h(
        "span",
        {class: "kind", title: t(`chat ${chat.kind}`)},
        icon(ICONS[chat.kind] ?? "pane"),
        h("span", {class: "unseen"}, t(`chat ${chat.kind}`)),
      ),
      h(
        "span",
        {class: "about"},
        h("span", {class: "title"}, chat.title || t("untitled")),
        extra ??
          (chat.first_words && chat.first_words !== chat.title
            ? h("span", {class: "words"}, chat.first_words)
            : null),
        h(
          "span",
          {class: "meta"},
          h("span", {}, day(chat.created)),
          lasted ? h("span", {}, lasted) : null,
          marks,
        ),
      ),
      icon("open"),
    ),
  );
}

// [[text, hit], …]
export function snippet(parts) {
  return h(
    "span",
    {class: "words"},
    parts.map(([text, hit]) => (hit ? h("mark", {}, text) : text)),
  );
}
