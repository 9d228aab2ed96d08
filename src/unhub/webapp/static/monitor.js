// What was monitored of a correction: the strength that recent queries support, and the gain, run after run.

import { byId, h, replace, s, signed } from "./dom.js";

const HIGH = 150,
  LEFT = 44,
  RIGHT = 8,
  BOTTOM = 22,
  TOP = 8;
const NARROWEST = 260,
  MARKED = 8; // pixels for each run, from which on runs are marked
const ERRORS = 2; // standard errors, the interval
const COLOURS = { fine: "use", "look again": "unclear", refit: "stop" };
let runs = [],
  drawnAt = 0;

/** Framed once: the runs are those of when the page was opened. */
export function drawMonitor(found) {
  runs = found;
  if (!runs.length) return;
  const last = runs.at(-1);
  const figure = (id, title, words, keys) =>
    h("figure", {}, h("div", { class: "row" }, h("h3", {}, title), keys), h("div", { id }), h("figcaption", {}, words));
  replace(
    byId("monitor"),
    h(
      "div",
      { class: "sheet monitor" },
      h("h2", {}, "Over time"),
      h(
        "p",
        { class: "newest" },
        h("strong", { class: `badge ${COLOURS[last.status]}` }, day(last)),
        ` ${last.sentence}`,
      ),
      h(
        "div",
        { class: "pair-of-plots" },
        figure("monitor-strength", "Supported strength", "By recent queries, from 0 to 1; churn is the share of the best targets that the correction changes.", legend()),
        figure("monitor-gain", "Gain", "Nats per recent query at the strength that is served, with two standard errors; below the dotted line it costs more than it gives."),
      ),
    ),
  );
  new ResizeObserver(() => {
    if (Math.abs(widthOf(byId("monitor-gain")) - drawnAt) > 4) plots();
  }).observe(byId("monitor"));
  plots();
}

function plots() {
  drawnAt = widthOf(byId("monitor-gain"));
  const [first, last] = [runs[0], runs.at(-1)];
  replace(
    byId("monitor-strength"),
    plot(
      `Supported strength over ${runs.length} runs: from ${first.strength.toFixed(2)} to ${last.strength.toFixed(2)}.`,
      { low: 0, high: 1, ticks: [0, 0.5, 1] },
      (at) => [line(at, "churn", "before"), line(at, "strength", "after")],
    ),
  );
  const band = runs.map((each) => [each.gain - ERRORS * each.standard_error, each.gain + ERRORS * each.standard_error]);
  const [low, high] = [Math.min(0, ...band.map((each) => each[0])), Math.max(0, ...band.map((each) => each[1]))];
  replace(
    byId("monitor-gain"),
    plot(
      `Gain over ${runs.length} runs: from ${signed(first.gain, 3)} to ${signed(last.gain, 3)} nats per query.`,
      { low, high: high > low ? high : low + 1, ticks: ticks(low, high > low ? high : low + 1) },
      (at) => [interval(at, band), line(at, "gain", "after")],
    ),
  );
}

/** An SVG with axes; lines draws into it, given where a run and a value are. */
function plot(label, { low, high, ticks }, lines) {
  const wide = drawnAt - LEFT - RIGHT,
    tall = HIGH - TOP - BOTTOM;
  const at = {
    x: (place) => LEFT + (runs.length === 1 ? wide / 2 : (wide * place) / (runs.length - 1)),
    y: (value) => TOP + tall * (1 - (value - low) / (high - low)),
    marked: wide >= MARKED * runs.length,
  };
  const days = [...new Set(runs.length > 2 && wide > 340 ? [0, runs.length >> 1, runs.length - 1] : [0, runs.length - 1])];
  return s(
    "svg",
    { viewBox: `0 0 ${drawnAt} ${HIGH}`, class: "over-time", role: "img", "aria-label": label },
    ticks.map((value) => [
      s("line", { x1: LEFT, x2: drawnAt - RIGHT, y1: at.y(value), y2: at.y(value), class: value === 0 ? "grid zero" : "grid" }),
      s("text", { x: LEFT - 6, y: at.y(value) + 4, "text-anchor": "end" }, plain(value)),
    ]),
    days.map((place) => s("text", { x: at.x(place), y: HIGH - 4, "text-anchor": anchor(place) }, day(runs[place]))),
    lines(at),
  );
}

const anchor = (place) =>
  runs.length === 1 ? "middle" : place === 0 ? "start" : place === runs.length - 1 ? "end" : "middle";

function line(at, name, kind) {
  const known = runs.map((run, place) => [run, place]).filter(([run]) => run[name] !== null);
  return s(
    "g",
    { class: `run-line ${kind}` },
    s("polyline", { points: known.map(([run, place]) => `${at.x(place)},${at.y(run[name])}`).join(" ") }),
    known
      .filter(([, place]) => at.marked || place === runs.length - 1)
      .map(([run, place]) =>
        s("circle", { cx: at.x(place), cy: at.y(run[name]), r: 3 }, s("title", {}, `${day(run)}: ${name} ${run[name].toFixed(3)}`)),
      ),
  );
}

function interval(at, band) {
  if (runs.length === 1) {
    return s("line", { class: "interval", x1: at.x(0), x2: at.x(0), y1: at.y(band[0][0]), y2: at.y(band[0][1]) });
  }
  const points = (end) => band.map((each, place) => `${at.x(place)},${at.y(each[end])}`);
  return s("polygon", { class: "interval", points: [...points(1), ...points(0).reverse()].join(" ") });
}

/** Round values from low to high, at most five. */
function ticks(low, high) {
  const rough = (high - low) / 3,
    ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * ten).find((each) => each >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
}

const plain = (value) => String(Number(value.toPrecision(2))).replace("-", "−");
const day = (run) => run.date.slice(0, 10);
const widthOf = (root) => Math.max(NARROWEST, root.clientWidth);

function legend() {
  return h(
    "p",
    { class: "legend small" },
    h("span", { class: "key after" }, "strength"),
    h("span", { class: "key before" }, "churn"),
  );
}
