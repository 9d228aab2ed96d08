// The drawing of the map: where points are, how they look, which one is near. Its state is one object, `map`.

import { byId } from "./dom.js";
import { state } from "./state.js";

export const map = {
  points: null, // x, y, kind, row and name of each, from the server
  view: null, // counts and biases of the current setting
  look: { x: 0, y: 0, zoom: 1 },
  mode: "move",
  lasso: null, // its corners while it is drawn
  chosen: [],
  hidden: new Set(), // kinds
  hover: -1,
};

export function placeOf(at, wide, high) {
  const sides = [Math.min(wide, 1.4 * high) - 40, high - 40];
  return [
    (wide - sides[0]) / 2 + map.points.x[at] * sides[0],
    (high - sides[1]) / 2 + (1 - map.points.y[at]) * sides[1],
  ].map(
    (value, axis) =>
      (value - (axis ? high : wide) / 2) * map.look.zoom + (axis ? high / 2 + map.look.y : wide / 2 + map.look.x),
  );
}

const radius = (at) =>
  map.points.kind[at] === "target" ? 2.2 + 1.5 * Math.sqrt(map.view.counts_after[map.points.row[at]]) : 1.8;

let frame = 0;
/** Draw once per animation frame, however often this is called. */
export function paint() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    paintNow();
  });
}

function paintNow() {
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
  if (!map.points) return;
  const [low, mid, up, ink] = [colour("--down"), colour("--strong-line"), colour("--up"), colour("--ink")];
  const most = map.view.bias ? Math.max(...map.view.bias.map(Math.abs), 1e-9) : 1;
  const marked = new Set(map.chosen);
  for (const kind of ["bank target", "bank", "query", "target"]) {
    if (map.hidden.has(kind)) continue;
    for (let at = 0; at < map.points.x.length; at += 1) {
      if (map.points.kind[at] !== kind) continue;
      const [x, y] = placeOf(at, wide, high);
      if (x < -20 || y < -20 || x > wide + 20 || y > high + 20) continue;
      const size = radius(at);
      pen.beginPath();
      if (kind === "target") {
        const bias = map.view.bias ? map.view.bias[map.points.row[at]] / most : 0;
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
      if (marked.has(at) || at === map.hover || (kind === "target" && map.points.row[at] === state.hub)) {
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
  if (map.lasso) {
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    map.lasso.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
  }
}

export function zoomAt(x, y, times) {
  const box = byId("map-box"),
    before = map.look.zoom;
  map.look.zoom = Math.max(0.5, Math.min(60, map.look.zoom * times));
  const grown = map.look.zoom / before,
    [cx, cy] = [x - box.clientWidth / 2, y - box.clientHeight / 2];
  map.look.x = cx - (cx - map.look.x) * grown;
  map.look.y = cy - (cy - map.look.y) * grown;
  paint();
}

export function nearest(x, y) {
  if (!map.points) return -1;
  const box = byId("map-box");
  let best = -1,
    near = 12;
  for (let at = 0; at < map.points.x.length; at += 1) {
    if (map.hidden.has(map.points.kind[at])) continue;
    const [px, py] = placeOf(at, box.clientWidth, box.clientHeight);
    const far = Math.hypot(px - x, py - y) - (map.points.kind[at] === "target" ? radius(at) : 0);
    if (far < near) [best, near] = [at, far];
  }
  return best;
}

export function inside(shape, x, y) {
  let odd = false;
  for (let a = 0, b = shape.length - 1; a < shape.length; b = a, a += 1) {
    const [xa, ya] = shape[a],
      [xb, yb] = shape[b];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) odd = !odd;
  }
  return odd;
}
