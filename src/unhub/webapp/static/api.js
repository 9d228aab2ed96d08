// Requests to the server; an error comes back as a sentence, which is shown.

import { byId, h, replace } from "./dom.js";

/** Identifies this tab to the server: a newer request of the same name replaces a queued one. */
const TAB = [...crypto.getRandomValues(new Uint32Array(3))].map((each) => each.toString(36)).join("");
const BUSY = 503,
  REPLACED = 409;
const running = new Map();
let waiting = 0;

/** The response to a GET; undefined if a newer request of the same name replaced it. */
export async function get(name, path, values = {}) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== null) params.set(key, value);
  const query = params.toString();
  return request(name, query ? `${path}?${query}` : path, {});
}

export async function post(name, path, body) {
  return request(name, path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function request(name, url, options) {
  running.get(name)?.abort();
  const control = new AbortController();
  running.set(name, control);
  busy(1);
  const headers = { ...options.headers, "x-unhub-tab": TAB, "x-unhub-request": name };
  const send = () => fetch(url, { ...options, headers, signal: control.signal });
  try {
    let response = await send();
    if (response.status === BUSY) {
      complain(name, "The server is busy; trying again …", true);
      await pause(Number(response.headers.get("retry-after")) || 1, control.signal);
      response = await send();
    }
    if (response.status === REPLACED) return undefined;
    if (!response.ok) {
      const body = await response.json().catch(() => ({}));
      throw new Error(body.error ?? `the server answered ${response.status}`);
    }
    const answer = await response.json();
    complain(name, null);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    complain(
      name,
      error instanceof TypeError ? "no answer from the server; is unhub serve still running?" : error.message,
    );
    return undefined;
  } finally {
    busy(-1);
    if (running.get(name) === control) running.delete(name);
  }
}

/** Wait some seconds, or until the request is aborted. */
function pause(seconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", resolve);
  });
}

/** Abort requests by name. */
export function abandon(names) {
  for (const name of names) running.get(name)?.abort();
}

function busy(change) {
  waiting += change;
  byId("busy").classList.toggle("on", waiting > 0);
}

const problems = new Map();

let pinned = false;

/** Clear old errors, unless they were pinned. */
export function clearErrors() {
  if (!pinned) problems.clear();
  pinned = false;
  show();
}

/** Keep the current error on the screen for one more view. */
export function pinError() {
  const [first] = problems.values();
  problems.clear();
  if (first !== undefined) problems.set("address", { ...first, passing: false });
  pinned = true;
}

/** Show an error until the same request succeeds. passing: it is retried automatically. */
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
  replace(place, `${first.text} `, first.passing ? null : h("a", { href: location.pathname }, "Reset"));
}

/** The URL of an item's picture, sound or video. */
export function mediaOf(side, row, direction, size) {
  const params = new URLSearchParams({ direction });
  if (size) params.set("size", size);
  return `/api/media/${side}/${row}?${params}`;
}
