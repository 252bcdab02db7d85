// The device's API. What it refuses is a Problem; what never came back is an Unknown.

import {known, t} from "./i18n.js";

const PATIENCE_MS = 15000;

export class Problem extends Error {
  constructor(status, body) {
    super(
      known(`problem ${body.code}`) ??
        [body.detail ?? body.title, body.mend].filter(Boolean).join(" "),
    );
    this.status = status;
    this.code = body.code ?? "";
    this.body = body;
  }
}

// No answer: what was asked may have been done, or not.
export class Unknown extends Error {}

async function ask(method, path, body, signal) {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      cache: "no-store",
      credentials: "same-origin",
      headers: body === undefined ? {} : {"Content-Type": "application/json"},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unknown(t("no answer"));
  }
  if (!response.ok) {
    if (response.status === 401) document.dispatchEvent(new Event("unpaired"));
    throw new Problem(response.status, parse(text) ?? {title: t("refused", response.status)});
  }
  return text;
}

const call = async (...asked) => parse(await ask(...asked));

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export const text = (path) => ask("GET", path);
export const get = (path, signal) => call("GET", path, undefined, signal);
export const post = (path, body = {}) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const patch = (path, body) => call("PATCH", path, body);
export const remove = (path) => call("DELETE", path);

export function query(path, values) {
  const pairs = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}
