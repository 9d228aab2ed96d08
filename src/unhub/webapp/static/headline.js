// The headline, the verdict and the table of results.

import { byId, count, h, number, replace, signed } from "./dom.js";
import { copier, table } from "./tables.js";

const VERDICTS = {
  use: "Use it",
  "upper bound": "Upper bound",
  unclear: "Not significant",
  "do not use": "Do not use it",
  refused: "Nothing is served",
  unknown: "Unknown",
};
const TITLES = {
  "R@1": ["R@1", "queries with a relevant target at rank 1"],
  "R@5": ["R@5", "queries with a relevant target in the top 5"],
  "R@10": ["R@10", "queries with a relevant target in the top 10"],
  MdR: ["median", "median rank of the relevant target"],
  MnR: ["mean", "mean rank of the relevant target"],
  skew: ["skew", "skewness of how often targets are retrieved; 0 is fair"],
  antihub: ["never", "targets that are never in the top k"],
  max_n: ["largest", "how often the largest hub is retrieved"],
  gini: ["Gini", "0 if all targets are retrieved equally often, 1 if one takes everything"],
};

/** The colour of a method by its title, as in every figure: reports/palette.py makes these variables. */
const colourOf = (title) =>
  `var(--method-${title.replace(/ as saved$/, "").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replace(/-$/, "")}, var(--ink))`;

export function drawHeadline(view) {
  document.documentElement.style.setProperty("--after", colourOf(view.lines.at(-1).name));
  const marked = view.verdict.kind.replaceAll(" ", "-");
  replace(
    byId("headline"),
    h("h1", {}, view.headline.sentence),
    h(
      "p",
      { class: `verdict ${marked}` },
      view.setting.method === "none" ? null : [h("strong", { class: "badge" }, VERDICTS[view.verdict.kind]), " "],
      view.setting.method === "none" || view.verdict.kind === "refused"
        ? null
        : h("span", { class: "quiet" }, "Measured on these queries: "),
      view.verdict.sentence,
    ),
  );
}

export function drawResults(view) {
  const [before, after] = view.lines;
  const metrics = Object.keys(before.values);
  const columns = [
    {
      key: "name",
      title: "method",
      text: (line) => line.name + (line.transductive ? " (transductive)" : ""),
      cell: nameOf,
    },
    ...metrics.map((metric) => ({
      key: metric,
      title: titleOf(metric),
      hint: (TITLES[metric] ?? TITLES[metric.split("@")[0]])?.[1],
      number: true,
      text: (line) => (line.values[metric] === undefined ? "" : line.values[metric].toFixed(digits(metric))),
      cell: (line) => valueOf(line, metric, before),
    })),
  ];
  if (after?.gain) columns.push({ key: "gain", title: "R@1 gain", number: true, only: "screen", text: gainOf });
  const about = (title, text) => ({ key: title, title, only: "csv", number: true, text });
  const more = [
    about("R@1 gain", (line) => line.gain?.value ?? ""),
    about("gain low", (line) => line.gain?.low ?? ""),
    about("gain high", (line) => line.gain?.high ?? ""),
    about("better", (line) => line.better),
    about("same", (line) => line.same),
    about("worse", (line) => line.worse),
    about("tau", (line) => line.tau ?? ""),
    about("strength", (line) => (line === before ? "" : (view.strength ?? ""))),
    ...["direction", "bank"].map((name) => ({ title: name, text: () => view.setting[name] })),
    about("k", () => view.setting.k),
  ];
  replace(
    byId("results"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Results with no correction and corrected" },
      table(columns, [before, after].filter(Boolean), { caption: "Results with no correction and corrected" }),
    ),
    h(
      "p",
      { class: "under" },
      copier([...columns.filter((column) => column.only !== "screen"), ...more], () => view.lines, "results"),
      view.notes.map((note) => h("span", { class: "small quiet" }, note)),
    ),
  );
}

function nameOf(line) {
  const tau = line.tau === null ? "" : ` τ ${Number(line.tau.toPrecision(2))}`;
  return [
    h("span", { class: line.label === "none" ? "before" : "after" }, line.name),
    h("span", { class: "quiet small" }, tau),
    line.transductive ? [" ", h("span", { class: "badge" }, "transductive")] : null,
  ];
}

function titleOf(metric) {
  const [stem, k] = metric.split("@");
  return TITLES[metric]?.[0] ?? `${TITLES[stem]?.[0] ?? stem}@${k}`;
}

const digits = (metric) =>
  metric.startsWith("max_n")
    ? 0
    : metric.startsWith("R@") || metric.startsWith("antihub") || metric === "MnR" || metric === "MdR"
      ? 1
      : 2;
const percent = (metric) => metric.startsWith("R@") || metric.startsWith("antihub");

function valueOf(line, metric, before) {
  const value = line.values[metric];
  if (value === undefined) return "–";
  const text = metric.startsWith("max_n")
    ? count(value)
    : number(value, digits(metric)) + (percent(metric) ? "%" : "");
  const moved = value - before.values[metric];
  return line === before || Math.abs(moved) < 0.005
    ? text
    : [text, h("span", { class: "moved quiet small" }, signed(moved, digits(metric)))];
}

function gainOf(line) {
  if (line.gain === null) return "";
  const { value, low, high } = line.gain;
  return `${signed(value, 1)} (${signed(low, 1)} to ${signed(high, 1)})`;
}
