// Asking the server; a mistake comes back as a sentence, which is shown.

import { byId, h, replace } from "./dom.js";

/** This tab, for the server: a newer question of the same name takes the place of one that still waits. */
const TAB = [...crypto.getRandomValues(new Uint32Array(3))].map((each) => each.toString(36)).join("");
const BUSY = 503,
  REPLACED = 409;
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
  const headers = { ...options.headers, "x-unhub-tab": TAB, "x-unhub-question": name };
  const send = () => fetch(address, { ...options, headers, signal: control.signal });
  try {
    let response = await send();
    if (response.status === BUSY) {
      complain(name, "Many people are using this page; trying again in a moment …", true);
      await pause(Number(response.headers.get("retry-after")) || 1, control.signal);
      response = await send();
    }
    if (response.status === REPLACED) return undefined;
    if (!response.ok) {
      const said = await response.json().catch(() => ({}));
      throw new Error(said.error ?? `the server answered ${response.status}`);
    }
    const answer = await response.json();
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

/** Waits some seconds, or until the question is given up. */
function pause(seconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", resolve);
  });
}

/** Gives up questions by name: their answers are not wanted any more. */
export function abandon(names) {
  for (const name of names) under.get(name)?.abort();
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
  if (first !== undefined) problems.set("address", { ...first, passing: false });
  kept = true;
}

/** Shows what went wrong until the same question is answered. passing: it is tried again without the reader. */
function complain(name, text, passing = false) {
  if (text === null) problems.delete(name);
  else problems.set(name, { text, passing });
  show();
}

function show() {
  const place = byId("problem"),
    [first] = problems.values();
  place.hidden = first === undefined;
  if (first === undefined) return;
  place.classList.toggle("passing", first.passing);
  replace(place, `${first.text} `, first.passing ? null : h("a", { href: location.pathname }, "Start afresh"));
}

/** The address of an item's picture, sound or video. */
export function mediaOf(side, row, direction, size) {
  const said = new URLSearchParams({ direction });
  if (size) said.set("size", size);
  return `/api/media/${side}/${row}?${said}`;
}
