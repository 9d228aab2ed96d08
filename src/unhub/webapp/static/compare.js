// The results of several methods for one query, side by side; lines join the same target, relevant ones are marked.

import { get, mediaOf, post } from "./api.js";
import { byId, h, later, number, replace, s, sign } from "./dom.js";
import { change, link, setting, state } from "./state.js";
import { copier } from "./tables.js";

export function frameCompare(about) {
  replace(
    byId("panel-compare"),
    h(
      "div",
      { class: "sheet asking" },
      h(
        "div",
        { class: "field grow" },
        h("label", { for: "query-find" }, "Choose a query"),
        h("input", {
          type: "search",
          id: "query-find",
          role: "combobox",
          "aria-expanded": "false",
          "aria-controls": "query-options",
          "aria-autocomplete": "list",
          autocomplete: "off",
          placeholder: "Type to search",
        }),
        h("ul", { id: "query-options", role: "listbox", "aria-label": "Queries", hidden: true }),
      ),
      h(
        "form",
        { class: "field grow", id: "words" },
        h(
          "label",
          { for: "words-text" },
          about.encoder ? "Or type your own query" : "To type your own query, restart unhub serve with --encoder",
        ),
        h(
          "div",
          { class: "pair" },
          h("input", {
            type: "text",
            id: "words-text",
            maxlength: 500,
            disabled: !about.encoder,
            autocomplete: "off",
            value: state.text ?? "",
          }),
          h("button", { type: "submit", disabled: !about.encoder }, "Search"),
        ),
      ),
    ),
    h("div", { class: "sheet", id: "comparison" }),
  );
  byId("words").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("words-text").value.trim();
    if (text) change({ text, query: undefined }, { step: true });
  });
  combobox();
}

/** Request the comparison: the typed text, the chosen query, or the first one. */
export function askComparison() {
  if (state.text) return post("compare", "/api/compare", { ...setting(), text: state.text });
  return get("compare", `/api/compare/${state.query ?? 0}`, setting());
}

export function drawComparison(comparison, view, queries) {
  if (document.activeElement !== byId("words-text")) byId("words-text").value = state.text ?? "";
  if (!comparison) return;
  const columns = [
    { title: "place", text: (row) => row.place },
    ...comparison.columns.flatMap((column, at) => [
      { title: column.name, text: (row) => row.answers[at]?.name ?? "" },
      { title: `${column.name}: right`, text: (row) => (row.answers[at]?.right ? "yes" : "no") },
      { title: `${column.name}: score`, number: true, text: (row) => row.answers[at]?.score ?? "" },
    ]),
  ];
  const places = Math.max(...comparison.columns.map((column) => column.answers.length));
  const rows = Array.from({ length: places }, (_, at) => ({
    place: at + 1,
    answers: comparison.columns.map((column) => column.answers[at]),
  }));
  const grid = h(
    "div",
    { class: "columns" },
    comparison.columns.map((column, at) => drawColumn(column, at, view)),
  );
  const scroll = h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Results side by side" },
    grid,
  );
  const steps =
    comparison.query === null
      ? null
      : h(
          "div",
          { class: "pair" },
          h(
            "button",
            {
              type: "button",
              "data-key": "query-before",
              disabled: comparison.query === 0,
              onclick: () => change({ query: comparison.query - 1 }),
            },
            "Previous",
          ),
          h(
            "button",
            {
              type: "button",
              "data-key": "query-next",
              disabled: comparison.query >= queries - 1,
              onclick: () => change({ query: comparison.query + 1 }),
            },
            "Next",
          ),
        );
  replace(
    byId("comparison"),
    h(
      "div",
      { class: "row" },
      h(
        "h2",
        { class: "long", tabindex: comparison.text.length > 200 ? "0" : null },
        h("span", { class: "quiet" }, "Query "),
        comparison.text,
      ),
      steps,
    ),
    comparison.right.length
      ? h(
          "p",
          { class: "small" },
          sign(true),
          `relevant: ${comparison.right.slice(0, 5).join(" · ")}${comparison.right.length > 5 ? " …" : ""}`,
        )
      : h(
          "p",
          { class: "small quiet" },
          comparison.query === null ? "No relevance is known for a typed query." : "No relevance is known for this query.",
        ),
    comparison.media === "image"
      ? h("img", {
          class: "query-picture",
          src: mediaOf("queries", comparison.query, view.setting.direction, 256),
          alt: comparison.text,
        })
      : null,
    scroll,
    h(
      "p",
      { class: "under" },
      copier(columns, () => rows, "comparison"),
      h(
        "span",
        { class: "small quiet" },
        "Numbers are score + bias; scales differ between columns. Arrows: ranks moved against no correction.",
      ),
    ),
  );
  requestAnimationFrame(() => drawMoves(grid));
}

function drawColumn(column, at, view) {
  const rank = column.rank === null ? "" : `relevant target at rank ${column.rank}`;
  return h(
    "section",
    { class: "column", "aria-label": `${column.name}. ${rank}` },
    h(
      "h3",
      {},
      column.name,
      h("span", { class: "quiet small" }, column.tau === null ? "" : ` τ ${Number(column.tau.toPrecision(2))}`),
    ),
    h("p", { class: "small quiet rank" }, rank),
    h(
      "ol",
      {},
      column.answers.map((answer, place) => drawAnswer(answer, place, at, view)),
    ),
  );
}

function drawAnswer(answer, place, column, view) {
  const moved =
    column === 0
      ? ""
      : answer.before === null
        ? "new"
        : answer.before === place + 1
          ? ""
          : answer.before > place + 1
            ? `↑${answer.before - place - 1}`
            : `↓${place + 1 - answer.before}`;
  const spoken =
    column === 0 || !moved ? "" : answer.before === null ? "new in the top 10" : `was at rank ${answer.before}`;
  const item = h(
    "li",
    { class: answer.right ? "answer is-right" : "answer", "data-target": answer.target },
    h("span", { class: "place", "aria-hidden": "true" }, String(place + 1)),
    answer.media === "image"
      ? h("img", {
          src: mediaOf("targets", answer.target, view.setting.direction, 64),
          alt: "",
          width: 32,
          height: 32,
          loading: "lazy",
          onerror: (event) => event.target.classList.add("lost"),
        })
      : null,
    h(
      "span",
      { class: "grow" },
      answer.right ? sign(true) : null,
      link({ panel: "hubs", hub: answer.target }, answer.name, { class: "link cut", title: answer.name }),
    ),
    h(
      "span",
      { class: "moved small quiet", title: spoken },
      moved,
      spoken ? h("span", { class: "sr-only" }, ` ${spoken}`) : null,
    ),
    h("span", { class: "score small quiet" }, number(answer.score, 3)),
  );
  item.addEventListener("pointerenter", () => mark(answer.target, true));
  item.addEventListener("pointerleave", () => mark(answer.target, false));
  return item;
}

function mark(target, on) {
  for (const each of byId("comparison").querySelectorAll(`[data-target="${target}"]`))
    each.classList.toggle("same", on);
}

/** Draw a line from each target to itself in the next column. */
function drawMoves(grid) {
  grid.querySelector("svg")?.remove();
  const box = grid.getBoundingClientRect();
  if (!box.width) return;
  const lists = [...grid.querySelectorAll(".column")].map((column) => [...column.querySelectorAll(".answer")]);
  const lines = [];
  for (let at = 0; at + 1 < lists.length; at += 1) {
    for (const from of lists[at]) {
      const to = lists[at + 1].find((each) => each.dataset.target === from.dataset.target);
      if (!to) continue;
      const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
      const [x1, y1, x2, y2] = [
        a.right - box.left,
        a.top + a.height / 2 - box.top,
        b.left - box.left,
        b.top + b.height / 2 - box.top,
      ];
      const kind = `move${y2 < y1 - 2 ? " up" : y2 > y1 + 2 ? " down" : ""}${from.classList.contains("is-right") ? " is-right" : ""}`;
      lines.push(
        s("path", {
          d: `M${x1} ${y1} C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`,
          class: kind,
          "data-target": from.dataset.target,
        }),
      );
    }
  }
  grid.append(s("svg", { class: "moves", width: box.width, height: box.height, "aria-hidden": "true" }, lines));
}

addEventListener(
  "resize",
  later(() => {
    const grid = document.querySelector("#comparison .columns");
    if (grid) drawMoves(grid);
  }, 100),
);

/** The list of queries below the field, with arrow keys, Enter and Escape. */
function combobox() {
  const [field, list] = [byId("query-find"), byId("query-options")];
  let rows = [],
    at = -1;
  const close = () => {
    list.hidden = true;
    at = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const pick = (row) => {
    close();
    field.value = "";
    change({ query: row, text: undefined }, { step: true });
  };
  const move = (to) => {
    at = Math.max(0, Math.min(rows.length - 1, to));
    [...list.children].forEach((each, index) => each.setAttribute("aria-selected", String(index === at)));
    field.setAttribute("aria-activedescendant", `option-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const look = later(async () => {
    const matches = await get("find", "/api/queries", { direction: state.direction, words: field.value, limit: 30 });
    if (!matches || document.activeElement !== field) return;
    rows = matches.rows;
    list.replaceChildren(
      ...matches.names.map((name, index) =>
        h(
          "li",
          {
            role: "option",
            id: `option-${index}`,
            "aria-selected": "false",
            onpointerdown: (event) => {
              event.preventDefault();
              pick(rows[index]);
            },
          },
          name,
        ),
      ),
    );
    list.hidden = rows.length === 0;
    field.setAttribute("aria-expanded", String(rows.length > 0));
    at = -1;
  }, 80);
  field.addEventListener("input", look);
  field.addEventListener("focus", look);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      move(at + 1);
    } else if (event.key === "ArrowUp") {
      event.preventDefault();
      move(at - 1);
    } else if (event.key === "Enter" && rows.length) {
      event.preventDefault();
      pick(rows[Math.max(at, 0)]);
    } else if (event.key === "Escape") close();
  });
}
