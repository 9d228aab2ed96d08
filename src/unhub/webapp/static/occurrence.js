// Histogram of how often targets are retrieved, with no correction and corrected. Drag over bars to list targets.

import { count, h, replace, s } from "./dom.js";
import { change, state } from "./state.js";

const HIGH = 220,
  LEFT = 44,
  BOTTOM = 40,
  TOP = 22;
let WIDE = 640,
  last = null;

/** Bins 0, 1, 2, 3-4, 5-8, ...: powers of two. */
export function bins(most) {
  const edges = [
    [0, 0],
    [1, 1],
    [2, 2],
  ];
  for (let low = 3, high = 4; edges.at(-1)[1] < most; low = high + 1, high *= 2) edges.push([low, high]);
  return edges;
}

export function inBin(edges, value) {
  return edges.findIndex(([low, high]) => value >= low && value <= high);
}

/** Drawn at the width of its container, so that text keeps its size. */
export function drawOccurrence(root, view) {
  if (!last)
    new ResizeObserver(() => {
      if (Math.abs(widthOf(root) - WIDE) > 8) drawOccurrence(root, last);
    }).observe(root);
  last = view;
  WIDE = widthOf(root);
  const most = Math.max(...view.counts_before, ...view.counts_after, 2);
  const edges = bins(most);
  const heights = [view.counts_before, view.counts_after].map((counts) => {
    const targets = new Array(edges.length).fill(0);
    for (const value of counts) targets[inBin(edges, value)] += 1;
    return targets;
  });
  const tallest = Math.max(...heights.flat(), 10);
  const top = Math.log10(tallest) + 0.12;
  const y = (value) =>
    value === 0 ? HIGH - BOTTOM : HIGH - BOTTOM - ((HIGH - BOTTOM - TOP) * (Math.log10(value) + 0.12)) / top;
  const wide = (WIDE - LEFT) / edges.length;
  const far = edges.at(-1)[1];
  const chosen =
    state.from !== undefined
      ? [inBin(edges, Math.min(state.from, far)), inBin(edges, Math.min(state.to ?? most, far))]
      : null;

  const bars = edges.map(([low, high], at) => {
    const x = LEFT + at * wide;
    const inside = !chosen || (at >= chosen[0] && at <= chosen[1]);
    return s(
      "g",
      { class: inside ? "bin" : "bin faded" },
      bar(x + wide * 0.12, wide * 0.36, heights[0][at], y, "bar before"),
      bar(x + wide * 0.52, wide * 0.36, heights[1][at], y, "bar after"),
      s(
        "text",
        { x: x + wide / 2, y: HIGH - BOTTOM + 15, class: "tick", "text-anchor": "middle" },
        tickOf(low, high, at, wide),
      ),
    );
  });
  const ticks = [1, 10, 100, 1000, 10000, 100000]
    .filter((value) => value <= tallest * 1.2)
    .map((value) =>
      s(
        "g",
        {},
        s("line", { x1: LEFT, x2: WIDE, y1: y(value), y2: y(value), class: "grid" }),
        s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", class: "tick" }, count(value)),
      ),
    );
  const shade = s("rect", { class: "shade", y: TOP - 8, height: HIGH - BOTTOM - TOP + 8, x: 0, width: 0 });
  const drawing = s(
    "svg",
    {
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      class: "occurrence",
      role: "img",
      "aria-label": spoken(edges, heights, view.setting.k),
    },
    ticks,
    shade,
    bars,
    s(
      "text",
      { x: LEFT + (WIDE - LEFT) / 2, y: HIGH - 4, class: "tick", "text-anchor": "middle" },
      view.setting.k === 1
        ? "queries that rank the target first"
        : `queries with the target in their top ${view.setting.k}`,
    ),
    s("text", { x: 0, y: 10, class: "tick" }, "targets (log scale)"),
  );
  if (chosen) place(shade, chosen[0], chosen[1], wide);
  brush(drawing, shade, edges, wide);

  replace(
    root,
    h("div", { class: "row" }, h("h2", {}, "How often targets are retrieved"), legend(view.lines.at(-1).name)),
    drawing,
    fields(edges, most, view),
  );
}

/** The label of a bar: its range; abbreviated, or every other one, where space is short. */
function tickOf(low, high, at, wide) {
  if (low === high || wide >= 52) return low === high ? String(low) : `${low}–${high}`;
  return wide < 30 && at % 2 ? "" : `${low}+`;
}

const widthOf = (root) => Math.max(280, root.clientWidth - 34 || 640);

function bar(x, width, value, y, kind) {
  const top = y(value);
  return [
    s("rect", { x, width, y: top, height: Math.max(0, HIGH - BOTTOM - top), class: kind }),
    value && width > 18
      ? s("text", { x: x + width / 2, y: top - 3, "text-anchor": "middle", class: "value" }, count(value))
      : null,
  ];
}

function place(shade, first, last, wide) {
  shade.setAttribute("x", LEFT + Math.min(first, last) * wide);
  shade.setAttribute("width", (Math.abs(last - first) + 1) * wide);
}

/** Drag over bars to select them; click a selected one to clear. */
function brush(drawing, shade, edges, wide) {
  let start = null,
    end = null;
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDE - LEFT;
    return Math.max(0, Math.min(edges.length - 1, Math.floor(x / wide)));
  };
  drawing.addEventListener("pointerdown", (event) => {
    start = end = at(event);
    drawing.setPointerCapture(event.pointerId);
    place(shade, start, end, wide);
    event.preventDefault();
  });
  drawing.addEventListener("pointermove", (event) => {
    if (start === null) return;
    end = at(event);
    place(shade, start, end, wide);
  });
  drawing.addEventListener("pointercancel", () => {
    start = null;
  });
  drawing.addEventListener("pointerup", () => {
    if (start === null) return;
    const [first, last] = [Math.min(start, end), Math.max(start, end)];
    start = null;
    const low = edges[first][0],
      high = edges[last][1];
    const same = state.from === low && state.to === high;
    change(same ? { from: undefined, to: undefined } : { from: low, to: high, list: "all" }, { step: true });
  });
}

/** The same selection by keyboard: from and to. */
function fields(edges, most, view) {
  const field = (name, title, otherwise) => [
    h("label", { for: `brush-${name}` }, title),
    h("input", {
      type: "number",
      id: `brush-${name}`,
      "data-key": `brush-${name}`,
      min: 0,
      max: most,
      value: String(state[name] ?? otherwise),
      onchange: (event) => {
        const value = Math.max(0, Math.min(most, Math.round(Number(event.target.value))));
        const from = name === "from" ? value : Math.min(state.from ?? 0, value);
        const to = name === "to" ? value : Math.max(state.to ?? most, value);
        change({ from, to, list: "all" });
      },
    }),
  ];
  return h(
    "p",
    { class: "under" },
    "List targets retrieved ",
    field("from", "from", 0),
    field("to", "to", most),
    " times with no correction",
    state.from === undefined
      ? null
      : h(
          "button",
          {
            type: "button",
            class: "plain",
            "data-key": "brush-clear",
            onclick: () => change({ from: undefined, to: undefined }),
          },
          "Clear",
        ),
  );
}

function legend(name) {
  return h(
    "p",
    { class: "legend small" },
    h("span", { class: "key before" }, "no correction"),
    h("span", { class: "key after" }, name),
  );
}

function spoken(edges, heights, k) {
  const parts = edges.map(
    ([low, high], at) =>
      `${low === high ? low : `${low} to ${high}`}: ${heights[0][at]} with no correction, ${heights[1][at]} corrected`,
  );
  return `Number of targets by how many queries have them in their top ${k}. ${parts.join("; ")}.`;
}
