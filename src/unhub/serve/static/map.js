// The map: queries, bank and targets in the plane. Drag to move, wheel to zoom, lasso to list; + and - by keyboard.

import { get } from "./api.js";
import { byId, count, h, replace, signed } from "./dom.js";
import { change, link, state } from "./state.js";
import { copier, table } from "./tables.js";

const KINDS = { target: "targets", query: "queries", bank: "bank queries", "bank target": "bank targets" };
const LISTED = 300;
let points = null,
  key = "",
  items = null,
  view = null,
  look = { x: 0, y: 0, zoom: 1 },
  lasso = null,
  chosen = [],
  mode = "move",
  hidden = new Set(),
  hover = -1;

export function frameMap() {
  const canvas = h("canvas", {
    id: "map",
    tabindex: "0",
    role: "img",
    "aria-label": "Map of targets, queries and bank queries",
    "aria-describedby": "map-help",
  });
  replace(
    byId("panel-map"),
    h(
      "div",
      { class: "sheet" },
      h(
        "div",
        { class: "row" },
        h("h2", { class: "seen-by-ear" }, "Map"),
        h("div", { class: "tools", id: "map-tools" }),
      ),
      h(
        "div",
        { id: "map-box" },
        canvas,
        h("p", { id: "map-wait", class: "quiet" }),
        h("p", { id: "map-tip", hidden: true }),
      ),
      h(
        "p",
        { id: "map-help", class: "small quiet" },
        "A target is as large as it is often retrieved after the correction; its colour is its bias: ",
        h("span", { class: "key low" }, "pushed down"),
        " ",
        h("span", { class: "key high" }, "lifted"),
        ". Drag to move, turn the wheel or press + and − to zoom, choose Lasso and draw around points to list them.",
      ),
    ),
    h("div", { class: "sheet", id: "map-list", "aria-live": "polite" }),
  );
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * 0.0016));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", byKeys);
  pointing(canvas);
  new ResizeObserver(() => paint()).observe(byId("map-box"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
}

/** The map of the direction and bank; asked again until it is laid out. */
export async function drawMap(newView, newItems) {
  [view, items] = [newView, newItems];
  const wanted = `${view.setting.direction}|${view.setting.bank}`;
  tools();
  if (wanted === key && points) {
    paint();
    list();
    return;
  }
  points = null; // those of another direction do not go with these counts
  const found = await get("map", "/api/map", { direction: view.setting.direction, bank: view.setting.bank });
  if (!found) return;
  if (!found.ready) {
    key = "";
    byId("map-wait").textContent = `${found.said} …`;
    paint();
    setTimeout(() => {
      if (state.panel === "map") drawMap(view, items);
    }, 700);
    return;
  }
  byId("map-wait").textContent = found.x.length ? "" : found.said;
  [points, key, chosen, look] = [found, wanted, [], { x: 0, y: 0, zoom: 1 }];
  tools();
  byId("map").setAttribute("aria-label", `Map of ${count(found.x.length)} points: ${found.said}`);
  paint();
  list();
}

function tools() {
  const press = (title, on, act, name) =>
    h(
      "button",
      { type: "button", "data-key": `map-${name}`, "aria-pressed": on === null ? null : String(on), onclick: act },
      title,
    );
  replace(
    byId("map-tools"),
    Object.entries(KINDS)
      .filter(([kind]) => !points || points.kind.includes(kind))
      .map(([kind, title]) =>
        h(
          "label",
          { class: "check" },
          (() => {
            const box = h("input", {
              type: "checkbox",
              "data-key": `map-${kind}`,
              onchange: (event) => {
                event.target.checked ? hidden.delete(kind) : hidden.add(kind);
                chosen = chosen.filter((at) => !hidden.has(points?.kind[at]));
                paint();
                list();
              },
            });
            box.checked = !hidden.has(kind);
            return box;
          })(),
          h("span", { class: `dot ${kind.replace(" ", "-")}`, "aria-hidden": "true" }),
          title,
        ),
      ),
    press(
      "Move",
      mode === "move",
      () => {
        mode = "move";
        tools();
      },
      "move",
    ),
    press(
      "Lasso",
      mode === "lasso",
      () => {
        mode = "lasso";
        tools();
      },
      "lasso",
    ),
    press("+", null, () => zoomAt(byId("map").clientWidth / 2, byId("map").clientHeight / 2, 1.5), "in"),
    press("−", null, () => zoomAt(byId("map").clientWidth / 2, byId("map").clientHeight / 2, 1 / 1.5), "out"),
    press(
      "⤢",
      null,
      () => {
        look = { x: 0, y: 0, zoom: 1 };
        paint();
      },
      "whole",
    ),
  );
  for (const [name, said] of [
    ["in", "Zoom in"],
    ["out", "Zoom out"],
    ["whole", "Show the whole map"],
  ])
    byId("map-tools").querySelector(`[data-key="map-${name}"]`).setAttribute("aria-label", said);
}

function placeOf(at, wide, high) {
  const sides = [Math.min(wide, 1.4 * high) - 40, high - 40];
  return [(wide - sides[0]) / 2 + points.x[at] * sides[0], (high - sides[1]) / 2 + (1 - points.y[at]) * sides[1]].map(
    (value, axis) => (value - (axis ? high : wide) / 2) * look.zoom + (axis ? high / 2 + look.y : wide / 2 + look.x),
  );
}

const radius = (at) => (points.kind[at] === "target" ? 2.2 + 1.5 * Math.sqrt(view.counts_after[points.row[at]]) : 1.8);

let asked = 0;
/** Draws once for each picture of the screen, however often it is called. */
function paint() {
  if (asked) return;
  asked = requestAnimationFrame(() => {
    asked = 0;
    painted();
  });
}

function painted() {
  const canvas = byId("map"),
    box = byId("map-box");
  if (!canvas || !box.clientWidth) return;
  const [wide, high, sharp] = [box.clientWidth, box.clientHeight, devicePixelRatio || 1];
  if (canvas.width !== Math.round(wide * sharp) || canvas.height !== Math.round(high * sharp))
    [canvas.width, canvas.height] = [Math.round(wide * sharp), Math.round(high * sharp)];
  const pen = canvas.getContext("2d"),
    look_ = getComputedStyle(document.documentElement);
  const colour = (name) => look_.getPropertyValue(name).trim();
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, wide, high);
  if (!points) return;
  const [low, mid, up, ink] = [colour("--before"), colour("--strong-line"), colour("--after"), colour("--ink")];
  const most = view.bias ? Math.max(...view.bias.map(Math.abs), 1e-9) : 1;
  const marked = new Set(chosen);
  for (const kind of ["bank target", "bank", "query", "target"]) {
    if (hidden.has(kind)) continue;
    for (let at = 0; at < points.x.length; at += 1) {
      if (points.kind[at] !== kind) continue;
      const [x, y] = placeOf(at, wide, high);
      if (x < -20 || y < -20 || x > wide + 20 || y > high + 20) continue;
      const size = radius(at);
      pen.beginPath();
      if (kind === "target") {
        const bias = view.bias ? view.bias[points.row[at]] / most : 0;
        pen.globalAlpha = 0.35 + 0.6 * Math.min(1, Math.abs(bias) * 1.5);
        pen.fillStyle = bias < 0 ? low : bias > 0 ? up : mid;
        pen.arc(x, y, size, 0, 7);
        pen.fill();
      } else {
        pen.globalAlpha = 0.5;
        pen.strokeStyle = mid;
        pen.lineWidth = 1;
        if (kind === "query") {
          pen.moveTo(x - size, y);
          pen.lineTo(x + size, y);
          pen.moveTo(x, y - size);
          pen.lineTo(x, y + size);
        } else if (kind === "bank") pen.rect(x - size * 0.7, y - size * 0.7, size * 1.4, size * 1.4);
        else {
          pen.moveTo(x, y - size);
          pen.lineTo(x + size, y + size * 0.8);
          pen.lineTo(x - size, y + size * 0.8);
          pen.closePath();
        }
        pen.stroke();
      }
      if (marked.has(at) || at === hover || (kind === "target" && points.row[at] === state.hub)) {
        pen.globalAlpha = 1;
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.beginPath();
        pen.arc(x, y, size + 2, 0, 7);
        pen.stroke();
      }
    }
  }
  pen.globalAlpha = 1;
  if (lasso) {
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    lasso.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
  }
}

function zoomAt(x, y, times) {
  const box = byId("map-box"),
    before = look.zoom;
  look.zoom = Math.max(0.5, Math.min(60, look.zoom * times));
  const grown = look.zoom / before,
    [cx, cy] = [x - box.clientWidth / 2, y - box.clientHeight / 2];
  look.x = cx - (cx - look.x) * grown;
  look.y = cy - (cy - look.y) * grown;
  paint();
}

function byKeys(event) {
  const step = 40,
    box = byId("map-box");
  const act = {
    "+": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1.3),
    "=": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1.3),
    "-": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1 / 1.3),
    ArrowLeft: () => {
      look.x += step;
    },
    ArrowRight: () => {
      look.x -= step;
    },
    ArrowUp: () => {
      look.y += step;
    },
    ArrowDown: () => {
      look.y -= step;
    },
    Escape: () => {
      chosen = [];
      list();
    },
    Enter: inView,
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  paint();
}

/** By keyboard: what is in view is what a lasso around everything would give. */
function inView() {
  const box = byId("map-box");
  select((x, y) => x >= 0 && y >= 0 && x <= box.clientWidth && y <= box.clientHeight);
}

function pointing(canvas) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = [event.offsetX, event.offsetY, look.x, look.y];
    if (mode === "lasso") lasso = [[event.offsetX, event.offsetY]];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from && lasso) lasso.push([event.offsetX, event.offsetY]);
    else if (from) [look.x, look.y] = [from[2] + event.offsetX - from[0], from[3] + event.offsetY - from[1]];
    else tip(event.offsetX, event.offsetY);
    paint();
  });
  canvas.addEventListener("pointerup", (event) => {
    const moved = from && Math.hypot(event.offsetX - from[0], event.offsetY - from[1]) > 4;
    if (lasso && lasso.length > 2) {
      const shape = lasso;
      lasso = null;
      select((x, y) => inside(shape, x, y));
    } else if (from && !moved) open(event.offsetX, event.offsetY);
    from = lasso = null;
    paint();
  });
  canvas.addEventListener("pointercancel", () => {
    from = lasso = null;
    paint();
  });
  canvas.addEventListener("pointerleave", () => {
    hover = -1;
    byId("map-tip").hidden = true;
    paint();
  });
}

function nearest(x, y) {
  if (!points) return -1;
  const box = byId("map-box");
  let best = -1,
    near = 12;
  for (let at = 0; at < points.x.length; at += 1) {
    if (hidden.has(points.kind[at])) continue;
    const [px, py] = placeOf(at, box.clientWidth, box.clientHeight);
    const far = Math.hypot(px - x, py - y) - (points.kind[at] === "target" ? radius(at) : 0);
    if (far < near) [best, near] = [at, far];
  }
  return best;
}

function tip(x, y) {
  hover = nearest(x, y);
  const place = byId("map-tip");
  place.hidden = hover < 0;
  if (hover < 0) return;
  const row = points.row[hover];
  place.textContent =
    points.kind[hover] === "target"
      ? `${points.name[hover]}: ${view.counts_before[row]} → ${view.counts_after[row]}`
      : `${points.kind[hover]}: ${points.name[hover]}`;
  const box = byId("map-box");
  place.style.left = `${Math.min(x + 14, Math.max(0, box.clientWidth - place.offsetWidth - 8))}px`;
  place.style.top = `${Math.min(y + 14, Math.max(0, box.clientHeight - place.offsetHeight - 8))}px`;
}

function open(x, y) {
  const at = nearest(x, y);
  if (at < 0) return;
  if (points.kind[at] === "target") change({ panel: "hubs", hub: points.row[at] }, { step: true });
  else if (points.kind[at] === "query")
    change({ panel: "compare", query: points.row[at], text: undefined }, { step: true });
}

function inside(shape, x, y) {
  let odd = false;
  for (let a = 0, b = shape.length - 1; a < shape.length; b = a, a += 1) {
    const [xa, ya] = shape[a],
      [xb, yb] = shape[b];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) odd = !odd;
  }
  return odd;
}

function select(within) {
  const box = byId("map-box");
  chosen = points
    ? points.x
        .map((_, at) => at)
        .filter((at) => !hidden.has(points.kind[at]) && within(...placeOf(at, box.clientWidth, box.clientHeight)))
    : [];
  list();
}

function list() {
  if (!chosen.length || !points) {
    replace(
      byId("map-list"),
      h(
        "p",
        { class: "quiet empty" },
        "Draw a lasso around points to list them here; with the keyboard, zoom and press Enter to list what is in view.",
      ),
    );
    return;
  }
  const rows = chosen
    .map((at) => {
      const target = points.kind[at] === "target",
        row = points.row[at];
      return {
        kind: points.kind[at],
        name: points.name[at],
        row,
        before: target ? view.counts_before[row] : null,
        after: target ? view.counts_after[row] : null,
        bias: target && view.bias ? view.bias[row] : null,
      };
    })
    .sort((a, b) => (b.before ?? -1) - (a.before ?? -1));
  const columns = [
    {
      key: "name",
      title: "name",
      text: (row) => row.name,
      cell: (row) =>
        row.kind.startsWith("bank")
          ? row.name
          : link(
              row.kind === "target"
                ? { panel: "hubs", hub: row.row }
                : { panel: "compare", query: row.row, text: undefined },
              row.name,
            ),
    },
    { key: "kind", title: "kind", text: (row) => row.kind },
    { key: "before", title: "before", number: true, text: (row) => row.before ?? "" },
    { key: "after", title: "after", number: true, text: (row) => row.after ?? "" },
    {
      key: "bias",
      title: "bias",
      number: true,
      text: (row) => row.bias ?? "",
      cell: (row) => (row.bias === null ? "" : signed(row.bias, 3)),
    },
  ];
  replace(
    byId("map-list"),
    h(
      "div",
      { class: "row" },
      h("h2", {}, `${count(rows.length)} points`),
      copier(columns, () => rows, "points"),
    ),
    h(
      "div",
      { class: "rows tall", tabindex: "0", role: "region", "aria-label": "Chosen points" },
      table(columns, rows.slice(0, LISTED), { caption: "Chosen points of the map" }),
    ),
    rows.length > LISTED ? h("p", { class: "small quiet" }, `the first ${LISTED}; copied are all`) : null,
  );
}
