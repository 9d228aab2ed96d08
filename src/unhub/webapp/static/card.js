// The card of one target: queries that retrieve it, bank queries that push it down, and what ranks first instead.

import { mediaOf } from "./api.js";
import { byId, count, h, number, replace, s, sign } from "./dom.js";
import { change, link } from "./state.js";
import { copier, table } from "./tables.js";

export function drawCard(card, view, judged) {
  if (!card) {
    replace(
      byId("hub-card"),
      h(
        "p",
        { class: "quiet empty" },
        "Choose a target to see which queries retrieve it, which bank queries push it down, and what ranks first instead.",
      ),
    );
    return;
  }
  const k = view.setting.k;
  const counts = h(
    "dl",
    { class: "facts" },
    fact("no correction", `${count(card.count_before)}`, judged ? `${count(card.right_before)} right` : ""),
    fact("corrected", `${count(card.count_after)}`, judged ? `${count(card.right_after)} right` : ""),
    fact("bias", number(card.bias, 4), view.strength === 0 ? "not served" : ""),
  );
  replace(
    byId("hub-card"),
    h(
      "div",
      { class: "row" },
      h("h2", { class: "long", tabindex: card.name.length > 200 ? "0" : null }, card.name),
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "data-key": "card-close",
          onclick: () => change({ hub: undefined }, { step: true }),
        },
        "Close",
      ),
    ),
    card.id === card.name ? null : h("p", { class: "small quiet" }, card.id),
    player(card, view),
    counts,
    queriesOf(card, k, judged),
    contributions(card),
    replacements(card, judged),
  );
}

function fact(title, value, more) {
  return h(
    "div",
    {},
    h("dt", {}, title),
    h("dd", {}, value, more ? h("span", { class: "quiet small" }, ` ${more}`) : null),
  );
}

/** The picture or player of the target, if it has one. */
export function player(card, view) {
  const source = mediaOf("targets", card.target, view.setting.direction, card.media === "image" ? 480 : undefined);
  if (card.media === "image") return h("img", { class: "large", src: source, alt: card.name });
  if (card.media === "audio")
    return h("audio", { controls: true, preload: "none", src: source, "aria-label": card.name });
  if (card.media === "video")
    return h("video", { controls: true, preload: "metadata", src: source, "aria-label": card.name });
  return null;
}

function queriesOf(card, k, judged) {
  const columns = [
    {
      key: "name",
      title: "query",
      text: (row) => row.name,
      cell: (row) => [judged ? sign(row.right) : null, queryLink(row.query, row.name)],
    },
    { key: "right", title: "right", text: (row) => (row.right ? "yes" : "no"), only: "csv" },
    {
      key: "before",
      title: "rank, no correction",
      number: true,
      text: (row) => row.before ?? "",
      cell: (row) => row.before ?? "> 20",
    },
    {
      key: "after",
      title: "rank, corrected",
      number: true,
      text: (row) => row.after ?? "",
      cell: (row) => row.after ?? "> 20",
    },
  ];
  const shown = card.reached.length < card.reached_total ? ` (first ${count(card.reached.length)} shown)` : "";
  return h(
    "section",
    {},
    h(
      "div",
      { class: "row" },
      h(
        "h3",
        {},
        `${count(card.reached_total)} ${card.reached_total === 1 ? "query retrieves" : "queries retrieve"} it ${k === 1 ? "first" : `in the top ${k}`}, corrected or not${shown}`,
      ),
      copier(columns, () => card.reached, "queries of this target"),
    ),
    card.reached.length
      ? h(
          "div",
          { class: "rows short", tabindex: "0", role: "region", "aria-label": "Queries that retrieve it" },
          table(
            columns.filter((column) => !column.only),
            card.reached,
            { caption: "Queries that retrieve this target" },
          ),
        )
      : h("p", { class: "quiet" }, "None."),
  );
}

function queryLink(query, name) {
  return link({ panel: "compare", query, text: undefined }, name, { "data-key": `query-${query}` });
}

function contributions(card) {
  if (!card.contributions.length) return null;
  const shared = card.contributions[0].share !== null;
  const columns = [
    { key: "name", title: "bank query", text: (row) => row.name },
    { key: "score", title: "score", number: true, text: (row) => row.score, cell: (row) => number(row.score, 3) },
    ...(shared
      ? [
          {
            key: "share",
            title: "share of bias",
            number: true,
            text: (row) => row.share,
            cell: (row) => shareOf(row, card.contributions[0].share),
          },
        ]
      : []),
  ];
  const title = shared ? `Bank queries that push it down (${card.bank})` : `Nearest bank queries (${card.bank})`;
  return h(
    "section",
    {},
    h(
      "div",
      { class: "row" },
      h("h3", {}, title),
      copier(columns, () => card.contributions, "bank queries"),
    ),
    h(
      "div",
      { class: "rows short", tabindex: "0", role: "region", "aria-label": title },
      table(columns, card.contributions, { caption: title }),
    ),
  );
}

function shareOf(row, most) {
  const bar = s(
    "svg",
    { class: "share", width: 56, height: 8, "aria-hidden": "true" },
    s("rect", { width: 56, height: 8, rx: 2 }),
    s("rect", { width: (56 * row.share) / most, height: 8, rx: 2 }),
  );
  return h("span", { class: "together" }, bar, h("span", { class: "digits" }, `${(100 * row.share).toFixed(1)}%`));
}

function replacements(card, judged) {
  const columns = [
    {
      key: "name",
      title: "target",
      text: (row) => row.name,
      cell: (row) => link({ hub: row.target }, row.name, { "data-key": `instead-${row.target}` }),
    },
    { key: "count", title: "queries", number: true, text: (row) => row.count },
    ...(judged ? [{ key: "right", title: "relevant", number: true, text: (row) => row.right }] : []),
  ];
  return h(
    "section",
    {},
    h(
      "div",
      { class: "row" },
      h("h3", {}, "What ranks first instead"),
      copier(columns, () => card.instead, "targets that rank first instead"),
    ),
    card.instead.length
      ? h(
          "div",
          { class: "rows short", tabindex: "0", role: "region", "aria-label": "What ranks first instead" },
          table(columns, card.instead, { caption: "What ranks first instead" }),
        )
      : h("p", { class: "quiet" }, "No query moved away from it."),
  );
}
