// The map: queries, bank and targets in the plane. Drag to move, wheel or + and - to zoom, lasso to list.

import { get } from "./api.js";
import { byId, count, h, replace, signed } from "./dom.js";
import { inside, map, nearest, paint, placeOf, zoomAt } from "./map_canvas.js";
import { change, link, state } from "./state.js";
import { copier, table } from "./tables.js";

const KINDS = { target: "targets", query: "queries", bank: "bank queries", "bank target": "bank targets" };
const LISTED = 300;
let key = "";

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
        h("h2", { class: "sr-only" }, "Map"),
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
        "Size: how often a target is retrieved, corrected. Colour: its bias, ",
        h("span", { class: "key low" }, "pushed down"),
        " ",
        h("span", { class: "key high" }, "pushed up"),
        ". Drag to move, scroll or press + and − to zoom, use the lasso to list points.",
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

/** Draw the map of the direction and bank; polls until it is ready. */
export async function drawMap(newView) {
  map.view = newView;
  const wanted = `${map.view.setting.direction}|${map.view.setting.bank}`;
  tools();
  if (wanted === key && map.points) {
    paint();
    list();
    return;
  }
  map.points = null; // points of another direction do not match these counts
  const answer = await get("map", "/api/map", { direction: map.view.setting.direction, bank: map.view.setting.bank });
  if (!answer) return;
  if (!answer.ready) {
    key = "";
    byId("map-wait").textContent = `${answer.said} …`;
    paint();
    setTimeout(() => {
      if (state.panel === "map") drawMap(map.view);
    }, 700);
    return;
  }
  byId("map-wait").textContent = answer.x.length ? "" : answer.said;
  [map.points, key, map.chosen, map.look] = [answer, wanted, [], { x: 0, y: 0, zoom: 1 }];
  tools();
  byId("map").setAttribute("aria-label", `Map of ${count(answer.x.length)} points: ${answer.said}`);
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
      .filter(([kind]) => !map.points || map.points.kind.includes(kind))
      .map(([kind, title]) =>
        h(
          "label",
          { class: "check" },
          (() => {
            const box = h("input", {
              type: "checkbox",
              "data-key": `map-${kind}`,
              onchange: (event) => {
                event.target.checked ? map.hidden.delete(kind) : map.hidden.add(kind);
                map.chosen = map.chosen.filter((at) => !map.hidden.has(map.points?.kind[at]));
                paint();
                list();
              },
            });
            box.checked = !map.hidden.has(kind);
            return box;
          })(),
          h("span", { class: `dot ${kind.replace(" ", "-")}`, "aria-hidden": "true" }),
          title,
        ),
      ),
    press(
      "Move",
      map.mode === "move",
      () => {
        map.mode = "move";
        tools();
      },
      "move",
    ),
    press(
      "Lasso",
      map.mode === "lasso",
      () => {
        map.mode = "lasso";
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
        map.look = { x: 0, y: 0, zoom: 1 };
        paint();
      },
      "whole",
    ),
  );
  for (const [name, title] of [
    ["in", "Zoom in"],
    ["out", "Zoom out"],
    ["whole", "Show the whole map"],
  ])
    byId("map-tools").querySelector(`[data-key="map-${name}"]`).setAttribute("aria-label", title);
}

function byKeys(event) {
  const step = 40,
    box = byId("map-box");
  const act = {
    "+": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1.3),
    "=": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1.3),
    "-": () => zoomAt(box.clientWidth / 2, box.clientHeight / 2, 1 / 1.3),
    ArrowLeft: () => {
      map.look.x += step;
    },
    ArrowRight: () => {
      map.look.x -= step;
    },
    ArrowUp: () => {
      map.look.y += step;
    },
    ArrowDown: () => {
      map.look.y -= step;
    },
    Escape: () => {
      map.chosen = [];
      list();
    },
    Enter: inView,
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  paint();
}

/** Keyboard: list everything in view. */
function inView() {
  const box = byId("map-box");
  select((x, y) => x >= 0 && y >= 0 && x <= box.clientWidth && y <= box.clientHeight);
}

function pointing(canvas) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = [event.offsetX, event.offsetY, map.look.x, map.look.y];
    if (map.mode === "lasso") map.lasso = [[event.offsetX, event.offsetY]];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from && map.lasso) map.lasso.push([event.offsetX, event.offsetY]);
    else if (from) [map.look.x, map.look.y] = [from[2] + event.offsetX - from[0], from[3] + event.offsetY - from[1]];
    else tip(event.offsetX, event.offsetY);
    paint();
  });
  canvas.addEventListener("pointerup", (event) => {
    const moved = from && Math.hypot(event.offsetX - from[0], event.offsetY - from[1]) > 4;
    if (map.lasso && map.lasso.length > 2) {
      const shape = map.lasso;
      map.lasso = null;
      select((x, y) => inside(shape, x, y));
    } else if (from && !moved) open(event.offsetX, event.offsetY);
    from = map.lasso = null;
    paint();
  });
  canvas.addEventListener("pointercancel", () => {
    from = map.lasso = null;
    paint();
  });
  canvas.addEventListener("pointerleave", () => {
    map.hover = -1;
    byId("map-tip").hidden = true;
    paint();
  });
}

function tip(x, y) {
  map.hover = nearest(x, y);
  const place = byId("map-tip");
  place.hidden = map.hover < 0;
  if (map.hover < 0) return;
  const row = map.points.row[map.hover];
  place.textContent =
    map.points.kind[map.hover] === "target"
      ? `${map.points.name[map.hover]}: ${map.view.counts_before[row]} → ${map.view.counts_after[row]}`
      : `${map.points.kind[map.hover]}: ${map.points.name[map.hover]}`;
  const box = byId("map-box");
  place.style.left = `${Math.min(x + 14, Math.max(0, box.clientWidth - place.offsetWidth - 8))}px`;
  place.style.top = `${Math.min(y + 14, Math.max(0, box.clientHeight - place.offsetHeight - 8))}px`;
}

function open(x, y) {
  const at = nearest(x, y);
  if (at < 0) return;
  if (map.points.kind[at] === "target") change({ panel: "hubs", hub: map.points.row[at] }, { step: true });
  else if (map.points.kind[at] === "query")
    change({ panel: "compare", query: map.points.row[at], text: undefined }, { step: true });
}

function select(within) {
  const box = byId("map-box");
  map.chosen = map.points
    ? map.points.x
        .map((_, at) => at)
        .filter(
          (at) => !map.hidden.has(map.points.kind[at]) && within(...placeOf(at, box.clientWidth, box.clientHeight)),
        )
    : [];
  list();
}

function list() {
  if (!map.chosen.length || !map.points) {
    replace(
      byId("map-list"),
      h(
        "p",
        { class: "quiet empty" },
        "Draw a lasso around points to list them here, or zoom and press Enter to list everything in view.",
      ),
    );
    return;
  }
  const rows = map.chosen
    .map((at) => {
      const target = map.points.kind[at] === "target",
        row = map.points.row[at];
      return {
        kind: map.points.kind[at],
        name: map.points.name[at],
        row,
        before: target ? map.view.counts_before[row] : null,
        after: target ? map.view.counts_after[row] : null,
        bias: target && map.view.bias ? map.view.bias[row] : null,
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
    { key: "before", title: "no correction", number: true, text: (row) => row.before ?? "" },
    { key: "after", title: "corrected", number: true, text: (row) => row.after ?? "" },
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
      { class: "rows tall", tabindex: "0", role: "region", "aria-label": "Selected points" },
      table(columns, rows.slice(0, LISTED), { caption: "Selected points of the map" }),
    ),
    rows.length > LISTED ? h("p", { class: "small quiet" }, `first ${LISTED} shown; Copy CSV copies all`) : null,
  );
}
