// Queries that got worse and queries that improved, side by side.

import { get } from "./api.js";
import { byId, count, h, later, replace } from "./dom.js";
import { change, link, setting, state } from "./state.js";
import { copier, table } from "./tables.js";

const STEP = 50,
  MOST = 2000;
const search = later((words) => change({ words }), 150);

export function frameChanges() {
  replace(
    byId("panel-changes"),
    h(
      "div",
      { class: "sheet" },
      h("label", { for: "words-find" }, "Search queries "),
      h("input", {
        type: "search",
        id: "words-find",
        autocomplete: "off",
        value: state.words ?? "",
        oninput: (event) => search(event.target.value),
      }),
    ),
    h(
      "div",
      { class: "two" },
      h("section", { class: "sheet", id: "worse", "aria-label": "Queries made worse" }),
      h("section", { class: "sheet", id: "better", "aria-label": "Queries made better" }),
    ),
  );
}

export async function askChanges(judged) {
  if (!judged) return null;
  const ask = (which) =>
    get(`changes-${which}`, "/api/changes", {
      ...setting(),
      which,
      words: state.words,
      limit: Math.min(MOST, state[which] ?? STEP),
    });
  const [worse, better] = await Promise.all([ask("worse"), ask("better")]);
  return worse && better ? { worse, better } : undefined;
}

export function drawChanges(lists) {
  if (document.activeElement !== byId("words-find")) byId("words-find").value = state.words ?? "";
  if (lists === undefined) return;
  for (const which of ["worse", "better"]) drawList(which, lists?.[which]);
}

/** The whole list, also rows that are not shown. */
async function everyChange(which, total) {
  const rows = [];
  while (rows.length < total) {
    const part = await get(`all-${which}`, "/api/changes", {
      ...setting(),
      which,
      words: state.words,
      limit: MOST,
      offset: rows.length,
    });
    if (!part?.changes.length) break;
    rows.push(...part.changes);
  }
  return rows;
}

function drawList(which, list) {
  const columns = [
    {
      key: "name",
      title: "query",
      text: (row) => row.name,
      cell: (row) =>
        link({ panel: "compare", query: row.query, text: undefined }, row.name, {
          "data-key": `${which}-${row.query}`,
        }),
    },
    { key: "before", title: "rank, no correction", number: true, text: (row) => row.rank_before },
    { key: "after", title: "rank, corrected", number: true, text: (row) => row.rank_after },
    { key: "first", title: "ranked first now", text: (row) => row.first_after },
    { key: "right", title: "relevant", text: (row) => row.right },
  ];
  const shown = Number(state[which] ?? STEP);
  replace(
    byId(which),
    h(
      "div",
      { class: "row" },
      h(
        "h2",
        { class: which === "worse" ? "wrong" : "right" },
        list ? `${count(list.total)} queries made ${which}` : `Queries made ${which}`,
      ),
      list ? copier(columns, () => everyChange(which, list.total), `queries made ${which}`) : null,
    ),
    !list
      ? h("p", { class: "quiet" }, "Can't judge queries: no relevance file. Restart unhub serve with --relevant.")
      : list.total === 0
        ? h("p", { class: "quiet" }, "None.")
        : h(
            "div",
            { class: "rows tall", tabindex: "0", role: "region", "aria-label": `Queries made ${which}` },
            table(columns, list.changes, { caption: `Queries made ${which}, clearest first` }),
          ),
    list && list.total > list.changes.length && shown < MOST
      ? h(
          "p",
          { class: "under" },
          h(
            "button",
            {
              type: "button",
              class: "plain",
              "data-key": `more-${which}`,
              onclick: () => change({ [which]: Math.min(MOST, shown * 2) }),
            },
            "Show more",
          ),
        )
      : null,
  );
}
