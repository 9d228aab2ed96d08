// Tables from columns and rows. Every table can be copied as CSV, including rows that are not shown.

import { h, say } from "./dom.js";

/**
 * columns: {key, title, text(row) for CSV, cell(row) for the screen, number: true, sort: true}
 * options: caption, sort: {key, down}, onsort, open(row): what a row is opened with, key(row), all: rows for CSV
 */
export function table(columns, rows, options = {}) {
  const head = columns.map((column) => headOf(column, options));
  const body = rows.map((row) =>
    h(
      "tr",
      { class: options.marked?.(row) ? "marked" : null },
      columns.map((column, at) => cellOf(column, row, at, options)),
    ),
  );
  return h(
    "table",
    { class: options.class },
    h("caption", { class: "sr-only" }, options.caption ?? ""),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, body),
  );
}

function headOf(column, { sort, onsort }) {
  const mine = sort?.key === column.key;
  const props = { scope: "col", class: column.number ? "number" : null, title: column.hint };
  if (!column.sort || !onsort) return h("th", props, column.title);
  props["aria-sort"] = mine ? (sort.down ? "descending" : "ascending") : "none";
  const arrow = h("span", { "aria-hidden": "true", class: "arrow" }, mine ? (sort.down ? "↓" : "↑") : "");
  return h(
    "th",
    props,
    h(
      "button",
      {
        type: "button",
        "data-key": `sort-${column.key}`,
        onclick: () => onsort({ key: column.key, down: mine ? !sort.down : column.number === true }),
      },
      column.title,
      arrow,
    ),
  );
}

function cellOf(column, row, at, options) {
  const shown = column.cell ? column.cell(row) : column.text(row);
  const props = { class: column.number ? "number" : null };
  return at === 0 ? h("th", { ...props, scope: "row" }, shown) : h("td", props, shown);
}

/** A button that copies rows as CSV. */
export function copier(columns, rows, what) {
  const button = h(
    "button",
    { type: "button", class: "plain", "data-key": `copy-${what}`, "aria-label": `Copy ${what} as CSV` },
    "Copy CSV",
  );
  button.addEventListener("click", async () => {
    const done = await copy(csv(columns, await rows()));
    button.textContent = done ? "Copied" : "Copy failed";
    say(done ? `${what}: copied as CSV` : "The browser blocked copying.");
    setTimeout(() => {
      button.textContent = "Copy CSV";
    }, 1500);
  });
  return button;
}

export function csv(columns, rows) {
  const head = columns.map((column) => quoted(column.title, false));
  const body = rows.map((row) => columns.map((column) => quoted(column.text(row), column.number)));
  return [head, ...body].map((line) => line.join(",")).join("\n") + "\n";
}

/** A CSV field; text that a spreadsheet would run as a formula gets an apostrophe. */
function quoted(value, number) {
  let text = value === null || value === undefined ? "" : String(value);
  if (number) text = text.replaceAll("−", "-");
  else if (/^\s*[=+\-−@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "sr-only", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy"); // fallback for plain HTTP from another machine
    area.remove();
    return done;
  }
}
