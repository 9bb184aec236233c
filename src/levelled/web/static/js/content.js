// An item as its labeller sees it: each field shown for what it is.

import { root } from "./api.js";
import { make, markup } from "./dom.js";

const SIDES = ["left", "right"];
const FOLDED_ROLES = ["system", "developer", "tool", "function"];
const SMALL = 100;
const SHORT = 40;

/** The fields of an item as nodes: a pair side by side, short facts in a table, the rest one below the other. */
export function render(fields) {
  const pair = fields.filter((field) => SIDES.includes(field.name));
  const isPair = pair.length === 2;
  const rest = isPair ? fields.filter((field) => !pair.includes(field)) : fields;
  const facts = rest.filter((field) => isFact(field) && rest.length > 1);
  const nodes = rest.filter((field) => !facts.includes(field)).map((field) => block(field, rest.length > 1));
  if (facts.length) nodes.unshift(factTable(facts));
  if (isPair) nodes.push(make("div", { class: "pair" }, ...pair.map((field) => block(field, true))));
  if (!nodes.length) nodes.push(make("p", { class: "soft" }, "This item has no fields to show."));
  return nodes;
}

function isFact({ kind, value }) {
  return kind === "number" || (kind === "text" && value.length <= SHORT && !value.includes("\n"));
}

function block(field, isNamed) {
  const title = isNamed ? make("h2", {}, field.name) : null;
  return make("section", { class: `field ${field.kind}-field`, "aria-label": field.name }, title, ...show(field));
}

function show(field) {
  if (field.kind === "markdown" && field.html !== null) return [markup(field.html)];
  if (field.kind === "chat") return [make("ol", { class: "chat" }, ...field.value.map(message))];
  if (field.kind === "json") return [make("div", { class: "json" }, tree(field.value, true))];
  if (field.kind === "image") return [picture(field)];
  return [make("div", { class: "text" }, String(field.value ?? ""))];
}

function factTable(facts) {
  const rows = facts.map((field) =>
    make("tr", {}, make("th", { scope: "row" }, field.name), make("td", {}, field.value === null ? "–" : String(field.value))),
  );
  return make("table", { class: "field facts" }, make("tbody", {}, ...rows));
}

function picture(field) {
  const source = field.value.startsWith("data:") ? field.value : `${root}/${field.src}`;
  const image = make("img", { src: source, alt: `Image in the field ${field.name}`, decoding: "async" });
  image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth < SMALL));
  image.addEventListener("error", () =>
    image.replaceWith(make("p", { class: "problem" }, `The image ${String(field.value).slice(0, 200)} cannot be shown.`)),
  );
  return image;
}

/** One message of a chat; system prompts and what tools return are folded. */
function message(one) {
  const role = FOLDED_ROLES.includes(one.role) || ["user", "assistant"].includes(one.role) ? one.role : "other";
  const kind = { developer: "system", function: "tool" }[role] ?? role;
  const name = one.name ? `${one.role} · ${one.name}` : one.role;
  const said = spoken(one);
  const calls = (Array.isArray(one.tool_calls) ? one.tool_calls : []).map(toolCall);
  if (FOLDED_ROLES.includes(one.role)) {
    const summary = make("summary", { class: "role" }, name);
    return make("li", { class: kind }, make("details", {}, summary, ...said), ...calls);
  }
  return make("li", { class: kind }, make("div", { class: "role" }, name), ...said, ...calls);
}

function spoken(one) {
  if (typeof one.html === "string") return [markup(one.html)];
  if (typeof one.content === "string") return one.content ? [make("div", { class: "text" }, one.content)] : [];
  return [make("div", { class: "json" }, tree(one.content, false))];
}

function toolCall(call) {
  const called = call?.function ?? call ?? {};
  const name = typeof called === "string" ? called : (called.name ?? "unnamed");
  const given = parsed(called.arguments ?? called.args ?? called.input ?? {});
  const summary = make("summary", {}, `Tool call: ${name}`);
  return make("details", { class: "json" }, summary, tree(given, true));
}

function parsed(value) {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** JSON with each object and list folded, except for the outermost if `isOpen`. */
function tree(value, isOpen) {
  if (value === null || typeof value !== "object") return document.createTextNode(leaf(value));
  const entries = Object.entries(value);
  if (!entries.length) return document.createTextNode(Array.isArray(value) ? "[]" : "{}");
  const noun = Array.isArray(value) ? "in a list" : "fields";
  const summary = make("summary", {}, `${entries.length} ${noun}`);
  const inner = entries.flatMap(([name, part]) => [make("dt", {}, name), make("dd", {}, tree(part, false))]);
  return make("details", { open: isOpen }, summary, make("dl", {}, ...inner));
}

function leaf(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
