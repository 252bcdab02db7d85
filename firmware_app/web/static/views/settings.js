// Settings, who may read this page, and the device itself.

import * as api from "../api.js";
import {h, say, toast} from "../dom.js";
import {day} from "../format.js";
import {known, t} from "../i18n.js";
import {choice, slider, toggle} from "../parts/controls.js";
import {ask, attempt} from "../parts/dialog.js";
import {installButton} from "../parts/install.js";
import {store, watch} from "../store.js";
import * as talk from "../talk.js";

export function render(root, _, signal) {
  const title = h("h1", {tabindex: "-1"}, t("settings"));
  const changeable = h("div", {class: "card settings"});
  const fixed = h("dl", {class: "fixed"});
  const phones = h("ul", {class: "phones"});
  const device = h("dl", {class: "fixed"});
  root.append(
    h(
      "section",
      {class: "settings-view"},
      h("header", {class: "head"}, title),
      h(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": t("settings")},
        changeable,
        h("h2", {}, t("phones")),
        h("p", {class: "hint"}, t("phones explained")),
        phones,
        installButton(signal),
        h("h2", {}, t("over ssh")),
        h("p", {class: "hint"}, t("over ssh explained")),
        fixed,
        h("h2", {}, t("device")),
        store.session.secure ? null : h("p", {class: "missing"}, t("not secure")),
        device,
      ),
    ),
  );

  const rows = new Map();
  watch(
    ["settings"],
    () => {
      for (const setting of Object.values(store.settings ?? {})) {
        if (!rows.has(setting.name)) {
          const made = setting.changeable ? changeableRow(setting) : fixedRow(setting);
          rows.set(setting.name, made);
          (setting.changeable ? changeable : fixed).append(made.element);
        }
        rows.get(setting.name).put(setting.value);
      }
    },
    signal,
  );
  attempt(talk.refreshSettings)();
  attempt(() => listPhones(phones, signal))();
  watch(["state", "saved", "connected"], () => void describe(device, signal), signal);
  return title;
}

const label = (setting) => known(`setting ${setting.name}`) ?? setting.doc;

function changeableRow(setting) {
  const control = controlOf(setting);
  const hint = known(`explained ${setting.name}`);
  return {
    put: control.put,
    element: h(
      "div",
      {class: "setting", "data-setting": setting.name},
      control.isLabelled ? null : h("p", {class: "label"}, label(setting)),
      control.element,
      hint ? h("p", {class: "hint"}, hint) : null,
      setting.restart ? h("p", {class: "hint"}, t("after restart")) : null,
    ),
  };
}

function controlOf(setting) {
  const apply = async (value, back) => {
    try {
      await talk.setSetting(setting.name, value);
    } catch (error) {
      back();
      toast(error.message, {bad: true});
    }
  };
  const now = () => store.settings[setting.name].value;
  if (typeof setting.value === "boolean") {
    const {element, input} = toggle(label(setting), (value) => apply(value, () => put(now())));
    const put = (value) => {
      input.checked = value;
    };
    return {element, put, isLabelled: true};
  }
  if (setting.choices?.length) {
    const control = choice(
      label(setting),
      setting.choices.map((value) => [value, known(`choice ${value}`) ?? value]),
      (value) => apply(value, () => control.choose(now())),
    );
    return {element: control.element, put: control.choose};
  }
  if (
    typeof setting.value === "number" &&
    Number.isFinite(setting.at_least) &&
    Number.isFinite(setting.at_most)
  ) {
    const isWhole = Number.isInteger(setting.value) && setting.at_most - setting.at_least > 2;
    const unit = known(`unit ${setting.name}`) ?? ((value) => String(value));
    const control = slider({
      label: label(setting),
      min: setting.at_least,
      max: setting.at_most,
      step: known(`step ${setting.name}`) ?? (isWhole ? 1 : 0.1),
      unit,
      onchange: (value) => apply(value, () => control.put(now())),
    });
    return {element: control.element, put: control.put};
  }
  const input = h("input", {
    type: "text",
    "aria-label": label(setting),
    autocomplete: "off",
    spellcheck: "false",
    onchange: () =>
      apply(typeof setting.value === "number" ? Number(input.value) : input.value, () => {
        input.value = now();
      }),
  });
  return {
    element: input,
    put: (value) => {
      if (document.activeElement !== input) input.value = value;
    },
  };
}

function fixedRow(setting) {
  const value = h("dd", {});
  const put = (text) =>
    say(
      value,
      typeof text === "boolean"
        ? t(text ? "on" : "off")
        : text === ""
          ? t("not set")
          : String(text),
    );
  return {
    put,
    element: h("div", {}, h("dt", {}, label(setting), h("code", {}, setting.name)), value),
  };
}

async function listPhones(list, signal) {
  const phones = await api.get("/api/pairings", signal);
  list.replaceChildren(
    ...phones.map((phone) =>
      h(
        "li",
        {"data-pairing": phone.id},
        h(
          "div",
          {},
          h(
            "p",
            {class: "title"},
            phone.name || t("unnamed phone"),
            phone.current ? h("span", {class: "mark"}, t("this phone")) : null,
          ),
          h("p", {class: "meta"}, t("last used", day(phone.last_used))),
        ),
        h(
          "button",
          {
            type: "button",
            class: "small danger",
            "aria-label": t("revoke phone", phone.name || t("unnamed phone")),
            onclick: () => revoke(phone, list, signal),
          },
          t("revoke"),
        ),
      ),
    ),
  );
}

function revoke(phone, list, signal) {
  ask({
    title: t("revoke phone", phone.name || t("unnamed phone")),
    content: [h("p", {}, t(phone.current ? "revoke this explained" : "revoke explained"))],
    confirm: t("revoke"),
    danger: true,
    act: async () => {
      if (phone.current) {
        await api.post("/api/unpair");
        document.dispatchEvent(new Event("unpaired"));
        return;
      }
      await api.remove(`/api/pairings/${encodeURIComponent(phone.id)}`);
      await listPhones(list, signal);
    },
  });
}

async function describe(list, signal) {
  try {
    const status = await api.get("/api/status", signal);
    const facts = [
      ["fact version", status.version],
      ["fact address", status.address],
      ["fact owner", store.session.owner],
      ["fact saving", status.saved && t(status.saved)],
      ["fact state", t(`state ${status.state}`)],
      ["fact detail", status.detail],
    ];
    list.replaceChildren(
      ...facts
        .filter(([, value]) => value)
        .map(([name, value]) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, String(value)))),
    );
  } catch {
    // It is asked again when the connection is back.
  }
}
