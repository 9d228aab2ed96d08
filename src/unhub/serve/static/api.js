// Asking the server; a mistake comes back as a sentence, which is shown.

import { byId, h, replace } from "./dom.js";

const under = new Map();
let waiting = 0;

/** The answer to a GET; a newer question of the same name makes an older one void, which then gives undefined. */
export async function get(name, path, values = {}) {
  const said = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== null) said.set(key, value);
  const query = said.toString();
  return ask(name, query ? `${path}?${query}` : path, {});
}

export async function post(name, path, body) {
  return ask(name, path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function ask(name, address, options) {
  under.get(name)?.abort();
  const control = new AbortController();
  under.set(name, control);
  busy(1);
  try {
    const response = await fetch(address, { ...options, signal: control.signal });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status}`);
    complain(name, null);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    complain(
      name,
      error instanceof TypeError ? "the server does not answer; is unhub serve still running?" : error.message,
    );
    return undefined;
  } finally {
    busy(-1);
    if (under.get(name) === control) under.delete(name);
  }
}

function busy(change) {
  waiting += change;
  byId("busy").classList.toggle("on", waiting > 0);
}

const problems = new Map();

let kept = false;

/** Forgets what went wrong before, unless it was kept: whoever asks anew hears it again. */
export function afresh() {
  if (!kept) problems.clear();
  kept = false;
  show();
}

/** What went wrong stays on the screen for one more view, whatever is answered. */
export function keep() {
  const [first] = problems.values();
  problems.clear();
  if (first !== undefined) problems.set("address", first);
  kept = true;
}

/** Shows what went wrong until the same question is answered. */
function complain(name, text) {
  if (text === null) problems.delete(name);
  else problems.set(name, text);
  show();
}

function show() {
  const place = byId("problem"),
    [first] = problems.values();
  place.hidden = first === undefined;
  if (first !== undefined) replace(place, `${first} `, h("a", { href: location.pathname }, "Start afresh"));
}

/** The address of an item's picture, sound or video. */
export function mediaOf(side, row, direction, size) {
  const said = new URLSearchParams({ direction });
  if (size) said.set("size", size);
  return `/api/media/${side}/${row}?${said}`;
}
