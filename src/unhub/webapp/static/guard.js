// The guard's card: the strength that queries support which the bias was not fitted on, or that none is served.

import { byId, count, h, replace, s, signed } from "./dom.js";
import { change, state } from "./state.js";

export function drawGuard(view) {
  const guard = view.guard;
  if (!guard) {
    replace(byId("guard"));
    return;
  }
  const judged = guard.reason === "judged";
  const shown = own(view);
  const limits = guard.limits.map((at) => `M${100 * at} -2V12`).join("");
  replace(
    byId("guard"),
    h(
      "div",
      { class: `guard ${guard.colour}` },
      h("h2", {}, guard.headline),
      guard.basis || shown ? h("p", { class: "asked" }, guard.basis, shown) : null,
      h("p", { class: "why" }, guard.summary),
      guard.evidence.length
        ? h(
            "ul",
            { class: "evidence", "aria-label": "Supported strength, from 0 to 1" },
            guard.evidence.map((each) => evidence(each, limits)),
          )
        : null,
      judged
        ? h(
            "ul",
            { class: "checks", "aria-label": "What was checked" },
            Object.entries(guard.checks).map(([name, done]) =>
              h("li", { class: done ? "done" : "open-check" }, `${name} ${done ? "checked" : "not checked"}`),
            ),
          )
        : null,
    ),
  );
}

/** What is shown in place of the guard's strength, and the way back. */
function own(view) {
  if (state.strength === undefined) return null;
  return [
    ` Shown at a strength of your own, ${view.strength}: `,
    h(
      "button",
      { type: "button", class: "plain", "data-key": "guard-auto", onclick: () => change({ strength: undefined }) },
      "show what the guard serves",
    ),
  ];
}

function evidence(each, limits) {
  const error = each.standard_error === null ? "–" : each.standard_error.toFixed(3);
  const queries = `${count(each.queries)} ${each.queries === 1 ? "query" : "queries"}`;
  const full = each.strength === 0 ? " at strength 1" : "";
  const all = each.left_out ? `; ${each.with_all.toFixed(2)} with the ${count(each.left_out)} that gain the most` : "";
  return h(
    "li",
    { class: each.binding ? "binding" : null },
    h("span", { class: "name" }, each.name),
    s(
      "svg",
      {
        class: "gauge",
        viewBox: "0 0 100 10",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${each.strength.toFixed(2)} of 1`,
      },
      s("rect", { class: "whole", width: 100, height: 10 }),
      s("rect", { class: "part", width: 100 * each.strength, height: 10 }),
      s("path", { class: "limit", d: limits }),
    ),
    h("b", {}, each.strength.toFixed(2)),
    h("span", { class: "more quiet" }, `${signed(each.gain, 3)} ± ${error} nats per query${full}, ${queries}${all}`),
  );
}
