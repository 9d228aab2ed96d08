// The settings: direction, bank, method, temperature, strength and k. Each change goes into the URL.

import { byId, h, later, replace } from "./dom.js";
import { change, state } from "./state.js";

const RANGE = 16; // times smaller and larger than the usual temperature
let pending = {};
const settle = later(() => flush(), 40);

/** Quick successive changes go into the URL together. */
function collect(changes) {
  pending = { ...pending, ...changes };
  settle();
}

function flush() {
  const changes = pending;
  pending = {};
  if (Object.keys(changes).length) change(changes);
}

/** Another choice cancels pending slider changes. */
function choose(changes) {
  pending = {};
  change(changes, { step: true });
}

/** state that belongs to one direction */
const NOTHING = Object.fromEntries(
  ["method", "tau", "strength", "hub", "query", "text", "find", "words", "more", "from", "to", "sort"].map((name) => [
    name,
    undefined,
  ]),
);
let drawn = { choices: "", sliders: "" };

/** Keeps the elements in use; rebuilds only what depends on another choice. */
export function drawControls(about, view) {
  const direction = about.directions.find((each) => each.name === view.setting.direction);
  const bank = direction.banks.find((each) => each.name === view.setting.bank);
  const method = bank.methods.find((each) => each.label === view.setting.method);
  const wanted = {
    choices: [direction.name, bank.name].join("|"),
    sliders: [direction.name, bank.name, method.label].join("|"),
  };
  if (wanted.choices !== drawn.choices) {
    replace(
      byId("controls"),
      h("div", { class: "parts" }, choices(about, direction, bank, method)),
      h("div", { class: "parts", id: "sliders" }),
      h("div", { class: "parts" }, depth(about)),
    );
  }
  if (wanted.sliders !== drawn.sliders)
    replace(byId("sliders"), temperature(method, view), strength(method, about, view));
  drawn = wanted;
  refresh(method, view);
}

function choices(about, direction, bank, method) {
  const names = (list) => list.map((each) => [each.name, each.name]);
  const others = { tau: undefined, strength: undefined };
  return [
    about.directions.length > 1
      ? choice("direction", "Direction", names(about.directions), direction.name, (name) =>
          choose({ ...NOTHING, direction: name, bank: sameBank(about, name) }),
        )
      : null,
    choice("bank", "Bank", names(direction.banks), bank.name, (name) =>
      choose({ ...others, bank: name, method: sameMethod(direction, name, byId("set-method").value) }),
    ),
    choice(
      "method",
      "Method",
      bank.methods.map((each) => [each.label, each.name]),
      method.label,
      (label) => choose({ ...others, method: label }),
    ),
  ];
}

/** Update all values except the one being edited. */
function refresh(method, view) {
  const usual = method.tau ?? view.tau ?? 0.01;
  const now = pending.tau ?? state.tau ?? view.tau ?? usual;
  const strong = pending.strength ?? state.strength ?? view.strength ?? "";
  const own = (pending.strength ?? state.strength) !== undefined;
  const values = {
    "set-method": method.label,
    "set-strength": strong,
    "strength-number": method.has_strength ? strong : "",
  };
  if (method.has_tau) {
    values["set-tau"] = Math.log(now / usual) / Math.log(RANGE);
    values["tau-number"] = Number(now.toPrecision(3));
  }
  for (const [id, value] of Object.entries(values)) if (document.activeElement?.id !== id) byId(id).value = value;
  byId("set-tau").setAttribute("aria-valuetext", `temperature ${Number(now.toPrecision(3))}`);
  byId("set-strength").setAttribute("aria-valuetext", `strength ${strong}`);
  byId("strength-auto").setAttribute("aria-pressed", String(!own && method.has_strength));
  byId("strength-auto").title = own ? "Take the strength of the guard" : `${view.guard?.headline ?? ""}: see the guard's card`;
  for (const radio of document.querySelectorAll("input[name=k]")) radio.checked = Number(radio.value) === state.k;
}

/** The bank of the same name in another direction, else its first. */
function sameBank(about, direction) {
  const banks = about.directions.find((each) => each.name === direction).banks;
  return banks.some((each) => each.name === state.bank) ? state.bank : banks[0].name;
}

function sameMethod(direction, bank, label) {
  const methods = direction.banks.find((each) => each.name === bank).methods;
  return [label, "dbsn", "sn"].find((name) => methods.some((each) => each.label === name));
}

function choice(name, title, options, chosen, pick) {
  const select = h(
    "select",
    { id: `set-${name}`, "data-key": `set-${name}`, onchange: (event) => pick(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return h("div", { class: "field" }, h("label", { for: `set-${name}` }, title), select);
}

function temperature(method, view) {
  const usual = method.tau ?? view.tau ?? 0.01;
  const now = state.tau ?? view.tau ?? usual;
  const off = !method.has_tau;
  const at = Math.log(now / usual) / Math.log(RANGE);
  const move = (event) => {
    const value = Number((usual * RANGE ** Number(event.target.value)).toPrecision(3));
    byId("tau-number").value = value;
    collect({ tau: value });
  };
  return slider("tau", "Temperature τ", off, {
    min: -1,
    max: 1,
    step: 0.01,
    value: at,
    text: off && view.tau === null ? "" : Number(now.toPrecision(3)),
    move,
    spoken: `temperature ${Number(now.toPrecision(3))}`,
    type: (value) => change({ tau: value > 0 ? value : undefined }),
  });
}

function strength(method, about, view) {
  const strong = view.strength ?? "";
  const off = !method.has_strength;
  const auto = h(
    "button",
    {
      type: "button",
      id: "strength-auto",
      "data-key": "strength-auto",
      disabled: off,
      onclick: () => choose({ strength: undefined }),
    },
    view.guard?.reason === "given" ? "default" : "auto",
  );
  const move = (event) => {
    byId("strength-number").value = event.target.value;
    collect({ strength: Number(event.target.value) });
  };
  return slider("strength", "Strength", off, {
    min: 0,
    max: 2,
    step: 0.01,
    value: strong,
    text: off ? "" : strong,
    move,
    spoken: `strength ${strong}`,
    type: (value) => change({ strength: Math.min(about.most_strength, Math.max(0, value)) }),
    more: auto,
  });
}

function slider(name, title, off, { min, max, step, value, text, move, type, spoken, more = null }) {
  return h(
    "div",
    { class: "field wide" },
    h("label", { for: `${name}-number` }, title),
    h(
      "div",
      { class: "pair" },
      h("input", {
        type: "range",
        id: `set-${name}`,
        "data-key": `set-${name}`,
        min,
        max,
        step,
        value: String(value),
        disabled: off,
        "aria-label": `${title} slider`,
        "aria-valuetext": spoken,
        oninput: move,
      }),
      h("input", {
        type: "number",
        id: `${name}-number`,
        "data-key": `${name}-number`,
        step: "any",
        min: "0",
        value: String(text),
        disabled: off,
        onchange: (event) => {
          if (event.target.value !== "") type(Number(event.target.value));
        },
      }),
      more,
    ),
  );
}

function depth(about) {
  return h(
    "fieldset",
    { class: "field" },
    h("legend", {}, "Top k"),
    h(
      "div",
      { class: "segments" },
      about.depths.map((k) => {
        const radio = h("input", {
          type: "radio",
          name: "k",
          id: `k-${k}`,
          "data-key": `k-${k}`,
          value: k,
          onchange: () => change({ k, from: undefined, to: undefined }, { step: true }),
        });
        radio.checked = k === state.k;
        return [radio, h("label", { for: `k-${k}` }, String(k))];
      }),
    ),
  );
}
