// The page: reads its URL, requests everything that is shown, and draws it.

import { abandon, clearErrors, get, pinError } from "./api.js";
import { drawCard } from "./card.js";
import { askChanges, drawChanges, frameChanges } from "./changes.js";
import { askComparison, drawComparison, frameCompare } from "./compare.js";
import { drawControls } from "./controls.js";
import { byId, h, replace, say } from "./dom.js";
import { drawGuard } from "./guard.js";
import { drawHeadline, drawResults } from "./headline.js";
import { drawHubs, frameHubs } from "./hubs.js";
import { drawMap, frameMap } from "./map.js";
import { drawMonitor } from "./monitor.js";
import { change, onChange, SETTING, setting, state } from "./state.js";
import { copy } from "./tables.js";

const PANELS = { hubs: "Hubs", compare: "Compare", changes: "Better or worse", map: "Map" };
let about,
  view,
  items,
  itemsOf,
  turn = 0,
  drawnFor = "";

async function start() {
  theme(localStorage.getItem("theme") ?? "auto");
  const [description, history] = await Promise.all([get("about", "/api/about"), get("history", "/api/history")]);
  about = description;
  if (!about) return;
  if (!history) pinError();
  byId("title").textContent = about.title;
  document.title = `${about.title}: unhub`;
  frameHubs();
  frameCompare(about);
  frameChanges();
  frameMap();
  drawMonitor(history?.runs ?? []);
  drawTabs();
  onChange(update);
  await update();
}

const DRAWN = ["view", "items", "hub", "compare", "changes-worse", "changes-better"];
/** milliseconds before an outdated request is aborted in favour of the newest setting */
const PATIENCE = 500;
let busy = false,
  again = false,
  giveUp;

/** Draw what the URL says, one request at a time: while a slider moves, as fast as the server answers. */
async function update() {
  again = busy;
  if (busy) {
    giveUp ??= setTimeout(() => abandon(DRAWN), PATIENCE);
    return;
  }
  busy = true;
  try {
    do {
      again = false;
      try {
        await drawOnce();
      } finally {
        clearTimeout(giveUp);
        giveUp = undefined;
      }
    } while (again);
  } finally {
    busy = false;
  }
}

/** Request everything in view with one setting, and draw it at once. */
async function drawOnce() {
  clearErrors();
  turn += 1;
  const direction = state.direction ?? about.opening.direction;
  const wanted = JSON.stringify(setting());
  const known = wanted === drawnFor ? view : null;
  const [newView, newItems, card, compared, changed] = await Promise.all([
    known ?? get("view", "/api/view", setting()),
    itemsOf === direction ? items : get("items", "/api/targets", { direction }),
    state.panel === "hubs" && state.hub !== undefined ? get("hub", `/api/hub/${state.hub}`, setting()) : null,
    state.panel === "compare" ? askComparison() : null,
    state.panel === "changes" ? askChanges(judged(direction)) : null,
  ]);
  if (!newView || !newItems) {
    if (!again && !view && Object.keys(setting()).length) fallBack();
    return;
  }
  [view, items, itemsOf, drawnFor] = [newView, newItems, direction, wanted];
  drawControls(about, view);
  if (!known) {
    drawHeadline(view);
    drawGuard(view);
    drawResults(view);
  }
  showPanel();
  if (state.panel === "hubs") {
    drawHubs(about, view, items);
    drawCard(card, view, judged(direction));
  }
  if (state.panel === "compare")
    drawComparison(compared, view, about.directions.find((each) => each.name === direction).queries);
  if (state.panel === "changes") drawChanges(changed);
  if (state.panel === "map") drawMap(view);
  document.body.dataset.drawn = String(turn);
}

/** The URL names something that does not exist: show the opening view and say so. */
function fallBack() {
  pinError();
  change(Object.fromEntries(SETTING.map((name) => [name, undefined])));
}

const judged = (direction) => about.directions.find((each) => each.name === direction)?.judged ?? false;

function drawTabs() {
  const names = Object.keys(PANELS);
  replace(
    byId("tabs"),
    names.map((name) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `panel-${name}`,
          onclick: () => change({ panel: name }, { step: true }),
        },
        PANELS[name],
      ),
    ),
  );
  byId("tabs").addEventListener("keydown", (event) => {
    const at = names.indexOf(state.panel);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    change({ panel: name }, { step: true });
    byId(`tab-${name}`).focus();
  });
}

function showPanel() {
  if (!Object.hasOwn(PANELS, state.panel)) change({ panel: "hubs" });
  for (const name of Object.keys(PANELS)) {
    byId(`panel-${name}`).hidden = name !== state.panel;
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === state.panel));
    byId(`tab-${name}`).tabIndex = name === state.panel ? 0 : -1;
  }
}

/** The command that prints the numbers of this view, and its URL. */
function showCommand() {
  const dialog = byId("command-dialog");
  const part = (title, text, key) =>
    h(
      "section",
      {},
      h("h3", {}, title),
      h("pre", { tabindex: "0" }, text),
      h(
        "button",
        {
          type: "button",
          "data-key": key,
          onclick: async (event) => {
            event.target.textContent = (await copy(text)) ? "Copied" : "Copy failed";
            say(event.target.textContent);
          },
        },
        "Copy",
      ),
    );
  replace(
    dialog,
    h("h2", { id: "command-title" }, "Reproduce this view"),
    part("Command, on all data", view?.command ?? "", "copy-command"),
    part("URL of this view", location.href, "copy-address"),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  dialog.showModal();
}

function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  const button = byId("theme-button");
  button.textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[name];
  button.setAttribute(
    "aria-label",
    `Colours: ${{ auto: "same as system", light: "light", dark: "dark" }[name]}`,
  );
}

byId("command-button").addEventListener("click", showCommand);
byId("theme-button").addEventListener("click", () => {
  const order = ["auto", "light", "dark"];
  theme(order[(order.indexOf(localStorage.getItem("theme") ?? "auto") + 1) % 3]);
  if (view && state.panel === "map") drawMap(view);
});
byId("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  const field = { hubs: "find", compare: "query-find", changes: "words-find" }[state.panel];
  if (field) {
    event.preventDefault();
    byId(field).focus();
  }
});

start();
