// Elements from plain values. Text is always set as text, so data cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("p", {class: "quiet", onclick: f}, "text", otherElement). */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for SVG: s("rect", {x: 1}). */
export function s(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** Replace the children of an element; focus returns to the element with the same data-key. */
export function replace(root, ...children) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  root.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key !== undefined) {
    const again = [...root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
    again?.focus({ preventScroll: true });
  }
}

export const byId = (id) => document.getElementById(id);

/** Announce something to screen readers only. */
export function say(text) {
  byId("status").textContent = "";
  requestAnimationFrame(() => {
    byId("status").textContent = text;
  });
}

const whole = new Intl.NumberFormat("en");
export const count = (value) => whole.format(value);
export const number = (value, digits = 2) =>
  value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
export const signed = (value, digits = 0) =>
  (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);

/** ✓ or ✗, with a word for screen readers. */
export function sign(right) {
  return h(
    "span",
    { class: right ? "right" : "wrong" },
    h("span", { class: "sr-only" }, right ? "right" : "wrong"),
  );
}

/** Debounce: call after a pause. */
export function later(call, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), wait);
  };
}
