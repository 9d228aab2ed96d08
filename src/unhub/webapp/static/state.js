// The state of the page is its URL: the same URL shows the same view.

import { h } from "./dom.js";

const NUMBERS = new Set(["tau", "strength"]);
const WHOLE = new Set(["k", "hub", "query", "from", "to", "more", "worse", "better"]);
const DEFAULTS = { panel: "hubs", list: "hubs", k: 1 };
/** what the server needs; the rest is about display */
export const SETTING = ["direction", "bank", "method", "tau", "strength", "k"];

export let state = read();
const listeners = new Set();

function read() {
  const values = { ...DEFAULTS }; // a URL can hold anything
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (WHOLE.has(name)) {
      if (/^\d{1,15}$/.test(value)) values[name] = Number(value);
    } else if (NUMBERS.has(name)) {
      if (value !== "" && Number.isFinite(Number(value))) values[name] = Number(value);
    } else values[name] = value;
  }
  if (values.from > values.to) [values.from, values.to] = [values.to, values.from];
  return values;
}

/** Change part of the state. step: add a history entry, so that Back undoes it. */
export function change(changes, { step = false } = {}) {
  const next = { ...state, ...changes };
  for (const [name, value] of Object.entries(next)) {
    if (value === undefined || value === null || value === "") delete next[name];
  }
  state = { ...DEFAULTS, ...next };
  if (state.from > state.to) [state.from, state.to] = [state.to, state.from];
  const address = addressOf(state);
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  for (const each of listeners) each(Object.keys(changes));
}

export function addressOf(which) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(which)) {
    if (value !== undefined && value !== null && DEFAULTS[name] !== value) params.set(name, value);
  }
  const text = params.toString();
  return text ? `?${text}` : location.pathname;
}

/** A link to the view with these changes; a click opens it here. */
export function link(changes, text, props = {}) {
  const next = Object.fromEntries(Object.entries({ ...state, ...changes }).filter(([, value]) => value !== undefined));
  return h(
    "a",
    {
      class: "link",
      href: addressOf(next),
      ...props,
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        change(changes, { step: true });
      },
    },
    text,
  );
}

export function onChange(call) {
  listeners.add(call);
}

/** The setting as the server takes it. */
export function setting() {
  return Object.fromEntries(SETTING.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]));
}

addEventListener("popstate", () => {
  state = read();
  for (const each of listeners) each(SETTING);
});
