// What a conversation consumed, and what that cost.

import {h} from "../dom.js";
import {number} from "../format.js";
import {t} from "../i18n.js";

export function usage({usage: used, cost, currency}) {
  const engines = Object.entries(used?.engines ?? {});
  const rows = engines.map(([name, amounts]) =>
    h(
      "tr",
      {},
      h("th", {scope: "row"}, name),
      h(
        "td",
        {},
        Object.entries(amounts)
          .map(([what, value]) => t(`used ${what}`, number(value, 1)))
          .join(", "),
      ),
    ),
  );
  const price =
    cost === null || cost === undefined
      ? t("cost unavailable")
      : t("cost", [number(cost, 4), currency].filter(Boolean).join(" "));
  return [
    rows.length ? h("table", {}, h("tbody", {}, rows)) : h("p", {}, t("usage unavailable")),
    h("p", {}, price),
    used?.incomplete ? h("p", {}, t("usage incomplete")) : null,
  ].filter(Boolean);
}
