// Words of the page, one file a language in strings/.

const LANGUAGES = ["en", "es"];

let strings = {};
export let language = "en";

// The first language of the browser's that there is, else Echo's own, else English.
export async function choose(echo) {
  const wished = [...navigator.languages, echo ?? ""].map(
    (name) => name.toLowerCase().split("-")[0],
  );
  language = wished.find((name) => LANGUAGES.includes(name)) ?? "en";
  strings = (await import(`./strings/${language}.js`)).default;
  document.documentElement.lang = language;
}

// A string, or what the function of that name makes of the values.
export function t(name, ...values) {
  const string = strings[name];
  if (string === undefined) throw new Error(`no string ${name} in ${language}`);
  return typeof string === "function" ? string(...values) : string;
}

// Where there may be none: names of settings, sentences for error codes.
export function known(name) {
  return strings[name] ?? null;
}
