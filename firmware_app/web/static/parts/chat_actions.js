// What an owner may do with a conversation that is kept.

import * as api from "../api.js";
import {h, say, toast} from "../dom.js";
import {moment, number} from "../format.js";
import {t} from "../i18n.js";
import {choice} from "./controls.js";
import {ask, attempt} from "./dialog.js";
import {canShare, copy, share} from "./share.js";

const TITLE_LENGTH = 60;

export const pathOf = (uuid) => `/api/chats/${encodeURIComponent(uuid)}`;

// chat(): as it is now. onRenamed(title).
export function actions(chat, onRenamed) {
  const path = pathOf(chat().uuid);
  const made = [
    ["rename", () => rename(path, chat(), onRenamed)],
    ["export", () => exportIt(path, chat())],
    ["copy", attempt(async () => copy(await asText(path)))],
    ["share", () => shareIt(path, chat())],
    [
      "delete",
      attempt(async ({currentTarget: button}) => {
        const now = await api.get(api.query(path, {limit: 1}));
        if (button.isConnected) remove(path, now.chat); // else the reader has gone elsewhere
      }),
    ],
  ];
  return made
    .filter(([name]) => name !== "share" || canShare())
    .map(([name, onclick]) =>
      h(
        "button",
        {type: "button", class: name === "delete" ? "small danger" : "small", onclick},
        t(name),
      ),
    );
}

function rename(path, chat, onRenamed) {
  const box = h("input", {
    name: "title",
    value: chat.title,
    maxlength: TITLE_LENGTH,
    required: true,
    "aria-label": t("title"),
    autocomplete: "off",
  });
  ask({
    title: t("rename"),
    content: [box],
    confirm: t("rename"),
    act: async (form) => {
      const title = form.get("title").trim();
      await api.patch(path, {title});
      onRenamed(title);
    },
  });
  box.select();
}

function remove(path, chat) {
  ask({
    title: t("delete this", chat.title || t("untitled")),
    content: [
      h("p", {}, t("delete goes", chat.entries)),
      h("p", {}, t("delete stays")),
      h("p", {}, t("delete cannot")),
    ],
    confirm: t("delete"),
    danger: true,
    act: async () => {
      const {copies, erased} = await api.remove(path);
      location.hash = "#/history";
      const said = [
        t(erased ? "deleted" : "deleted soon"),
        copies.length ? t("copies left", copies.join(", ")) : "",
      ];
      toast(said.filter(Boolean).join(" "), {bad: copies.length > 0});
    },
  });
}

const asText = (path) => api.text(`${path}/export?format=txt`);

// The text is fetched beforehand: browsers open the share sheet only right after a tap.
function shareIt(path, chat) {
  const text = asText(path);
  text.catch(() => {}); // told when it is asked for
  ask({
    title: t("share this", chat.title || t("untitled")),
    content: [preview(path), h("p", {class: "hint"}, t("export leaves"))],
    confirm: t("share"),
    act: async () => share(chat.title, await text),
  });
}

function exportIt(path, chat) {
  const link = (format) => `${path}/export?format=${format}`;
  const download = h("a", {class: "button primary", href: link("md"), download: ""}, t("download"));
  const formats = choice(
    t("format"),
    [
      ["md", "Markdown"],
      ["txt", t("plain text")],
      ["json", "JSON"],
    ],
    (format) => {
      download.href = link(format);
    },
  );
  formats.choose("md");
  const dialog = ask({
    title: t("export this", chat.title || t("untitled")),
    content: [preview(path), formats.element, h("p", {class: "hint"}, t("export leaves"))],
    confirm: t("done"),
    act: async () => {},
  });
  dialog.querySelector("[type=submit]").replaceWith(download);
  download.addEventListener("click", () => setTimeout(() => dialog.close(), 0));
}

// A line that says what goes out.
function preview(path) {
  const line = h("p", {}, "…");
  const tell = async () => {
    const out = await api.get(`${path}/export/preview`);
    say(
      line,
      t("export preview", out, number(out.characters), moment(out.first), moment(out.last)),
    );
  };
  tell().catch((error) => say(line, error.message));
  return line;
}
