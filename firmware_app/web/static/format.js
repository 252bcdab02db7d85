// Times and amounts, in the reader's language.

import {language, t} from "./i18n.js";

const DAY_MS = 86400000;

// British dates for a British reader, though the words are everybody's English.
const locale = () => (navigator.language.startsWith(language) ? navigator.language : language);

export function time(seconds) {
  if (seconds === null || seconds === undefined) return t("time unknown");
  return new Date(seconds * 1000).toLocaleTimeString(locale(), {
    hour: "2-digit",
    minute: "2-digit",
  });
}

// A time within today; else a day, and the year only where it is another.
export function day(seconds) {
  if (seconds === null || seconds === undefined) return t("time unknown");
  const date = new Date(seconds * 1000);
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (date >= midnight) return time(seconds);
  if (date >= midnight - DAY_MS) return t("yesterday", time(seconds));
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString(locale(), {day: "numeric", month: "short", year});
}

// The time, with its day where that is not today.
export function stamp(seconds) {
  const when = day(seconds);
  return when.endsWith(time(seconds)) ? when : `${when} ${time(seconds)}`;
}

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return t("time unknown");
  return new Date(seconds * 1000).toLocaleString(locale(), {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

export function number(value, digits = 0) {
  return value.toLocaleString(locale(), {maximumFractionDigits: digits});
}

// From the first to the last entry; "" where either is unknown.
export function length(from, to) {
  if (!from || !to) return "";
  if (to - from < 60) return t("under a minute");
  const minutes = Math.round((to - from) / 60);
  return minutes < 90 ? t("minutes", minutes) : t("hours", Math.round(minutes / 60));
}
