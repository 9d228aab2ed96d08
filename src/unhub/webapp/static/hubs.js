// The list of targets: hubs, never retrieved, biggest movers; searchable, with keyboard control.

import { mediaOf } from "./api.js";
import { byId, count, h, later, number, replace, signed } from "./dom.js";
import { drawOccurrence } from "./occurrence.js";
import { change, state } from "./state.js";
import { copier, table } from "./tables.js";

const STEP = 60;
const LISTS = {
  hubs: { title: "Hubs", key: "before", down: true, keep: (row, edge) => row.before > edge },
  never: { title: "Never retrieved", key: "after", down: true, keep: (row) => row.before === 0 },
  movers: { title: "Biggest movers", key: "moved", down: true, keep: (row) => row.moved !== 0 },
  all: { title: "All", key: "before", down: true, keep: () => true },
};
const search = later((find) => change({ find, more: undefined }), 120);

export function frameHubs() {
  replace(
    byId("panel-hubs"),
    h("div", { class: "sheet", id: "occurrence" }),
    h(
      "div",
      { class: "sheet", id: "hub-list" },
      h(
        "div",
        { class: "row" },
        h("div", { class: "segments", id: "list-kinds", role: "group", "aria-label": "List" }),
        h("label", { for: "find", class: "sr-only" }, "Search targets"),
        h("input", {
          type: "search",
          id: "find",
          placeholder: "Search targets  /",
          autocomplete: "off",
          value: state.find ?? "",
          oninput: (event) => search(event.target.value),
        }),
      ),
      h("div", { id: "hub-rows", class: "rows", tabindex: "0", role: "region", "aria-label": "Targets" }),
      h("div", { id: "hub-foot", class: "under" }),
    ),
    h("aside", { class: "sheet", id: "hub-card", "aria-label": "Selected target" }),
  );
  byId("hub-rows").addEventListener("keydown", byArrows);
}

export function drawHubs(about, view, items) {
  drawOccurrence(byId("occurrence"), view);
  const all = rowsOf(view, items);
  const edge = edgeOf(view.counts_before);
  const shown = chosenOf(all, edge);
  replace(
    byId("list-kinds"),
    Object.entries(LISTS).map(([name, list]) =>
      h(
        "button",
        {
          type: "button",
          "data-key": `list-${name}`,
          "aria-pressed": String(state.list === name),
          onclick: () => change({ list: name, sort: undefined, more: undefined }, { step: true }),
        },
        `${list.title} `,
        h("span", { class: "quiet" }, count(all.filter((row) => list.keep(row, edge)).length)),
      ),
    ),
  );
  const columns = columnsOf(view, items);
  const most = Math.max(STEP, state.more ?? STEP);
  replace(
    byId("hub-rows"),
    shown.length
      ? table(
          columns.filter((column) => !column.only),
          shown.slice(0, most),
          {
            caption: "How often each target is retrieved, with no correction and corrected",
            sort: sortOf(),
            class: "hub-table",
            onsort: ({ key, down }) => change({ sort: `${key}.${down ? "down" : "up"}` }),
            marked: (row) => row.at === state.hub,
          },
        )
      : h("p", { class: "quiet" }, "No matching targets."),
  );
  replace(
    byId("hub-foot"),
    h(
      "span",
      { class: "quiet small" },
      `${count(Math.min(most, shown.length))} of ${count(shown.length)} shown` +
        (state.list === "hubs" ? `; a hub is retrieved more than ${edge.toFixed(1)} times` : ""),
    ),
    shown.length > most
      ? h(
          "button",
          { type: "button", class: "plain", "data-key": "hub-more", onclick: () => change({ more: most + 4 * STEP }) },
          "Show more",
        )
      : null,
    copier(columns, () => shown, "targets"),
  );
  if (byId("find") !== document.activeElement) byId("find").value = state.find ?? "";
}

function rowsOf(view, items) {
  return items.names.map((name, at) => ({
    at,
    name,
    id: items.ids[at],
    media: items.media[at],
    before: view.counts_before[at],
    after: view.counts_after[at],
    moved: view.counts_after[at] - view.counts_before[at],
    bias: view.bias ? view.bias[at] : null,
  }));
}

const listOf = () => (Object.hasOwn(LISTS, state.list) ? LISTS[state.list] : LISTS.hubs);

function sortOf() {
  const list = listOf();
  if (!state.sort) return { key: list.key, down: list.down };
  const [key, way] = state.sort.split(".");
  return { key, down: way !== "up" };
}

/** The count from which on a target is a hub: two standard deviations above the mean. */
function edgeOf(counts) {
  const mean = counts.reduce((sum, value) => sum + value, 0) / counts.length;
  const edge = mean + 2 * Math.sqrt(counts.reduce((sum, value) => sum + (value - mean) ** 2, 0) / counts.length);
  return Math.min(edge, Math.max(...counts) - 0.5); // the most frequent one is always listed
}

function chosenOf(all, edge) {
  const words = (state.find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const list = listOf();
  const { key, down } = sortOf();
  const value = (row) => (key === "moved" && !state.sort ? Math.abs(row.moved) : row[key]);
  return all
    .filter((row) => list.keep(row, edge))
    .filter((row) => state.from === undefined || (row.before >= state.from && row.before <= (state.to ?? Infinity)))
    .filter((row) =>
      words.every((word) => row.name.toLowerCase().includes(word) || row.id.toLowerCase().includes(word)),
    )
    .sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === "string" ? x.localeCompare(y) : x - y;
      return (down ? -order : order) || a.at - b.at;
    });
}

function columnsOf(view, items) {
  return [
    { key: "name", title: "target", sort: true, text: (row) => row.name, cell: (row) => nameOf(row, view) },
    { key: "id", title: "id", only: "csv", text: (row) => row.id },
    {
      key: "before",
      title: "no correction",
      number: true,
      sort: true,
      text: (row) => row.before,
      cell: (row) => count(row.before),
    },
    {
      key: "after",
      title: "corrected",
      number: true,
      sort: true,
      text: (row) => row.after,
      cell: (row) => count(row.after),
    },
    {
      key: "moved",
      title: "change",
      number: true,
      sort: true,
      text: (row) => row.moved,
      cell: (row) => (row.moved ? signed(row.moved) : "0"),
    },
    {
      key: "bias",
      title: "bias",
      number: true,
      sort: view.bias !== null,
      text: (row) => row.bias ?? "",
      cell: (row) => number(row.bias, 3),
    },
  ];
}

function nameOf(row, view) {
  if (row.media === "audio") return h("div", { class: "pair" }, playButton(row, view), named(row, null));
  const picture =
    row.media === "image"
      ? h("img", {
          src: mediaOf("targets", row.at, view.setting.direction, 64),
          alt: "",
          width: 32,
          height: 32,
          loading: "lazy",
          onerror: (event) => event.target.classList.add("lost"),
        })
      : row.media
        ? h("span", { class: "kind", "aria-hidden": "true" }, "▶")
        : null;
  return named(row, picture);
}

let playing = null;

/** Play a sound; playing another one, or the same again, stops it. */
function playButton(row, view) {
  const button = h(
    "button",
    { type: "button", class: "play", "data-key": `play-${row.at}`, "aria-label": `Play ${row.name}` },
    "▶",
  );
  button.addEventListener("click", () => {
    const mine = playing?.at === row.at;
    playing?.sound.pause();
    playing?.done();
    playing = null;
    if (mine) return;
    const sound = new Audio(mediaOf("targets", row.at, view.setting.direction));
    const done = () => {
      button.textContent = "▶";
    };
    sound.addEventListener("ended", done);
    playing = { at: row.at, sound, done };
    button.textContent = "■";
    sound.play().catch(done);
  });
  return button;
}

function named(row, picture) {
  return h(
    "button",
    {
      type: "button",
      class: "open",
      "data-key": `hub-${row.at}`,
      "aria-pressed": String(row.at === state.hub),
      title: row.name,
      onclick: () => {
        change({ hub: row.at }, { step: true });
        if (matchMedia("(max-width: 60rem)").matches) byId("hub-card").scrollIntoView();
      },
    },
    picture,
    h("span", { class: "cut" }, row.name),
  );
}

/** Move between rows with the arrow keys. */
function byArrows(event) {
  const buttons = [...byId("hub-rows").querySelectorAll("button.open")];
  const at = buttons.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || !buttons.length) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(buttons.length - 1, to))].focus();
}
