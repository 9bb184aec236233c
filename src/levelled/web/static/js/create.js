// Create a campaign: choose a file, see what is in it, choose the settings, start.

import { get, pageOf, post, put, root } from "./api.js";
import { render } from "./content.js";
import { byId, make, table } from "./dom.js";
import { count } from "./numbers.js";

const MOST_SLICES = 30;
const LONGEST_SLICE = 30;
let found = null;
let roles = {}; // of columns that are not as was guessed
let choices = 0; // files chosen so far: a slow reply about an earlier one is dropped

function problem(why) {
  byId("problem").hidden = why === null;
  byId("problem").textContent = why ?? "";
  byId("reading").textContent = "";
}

/** Do something, and show why it was refused if it was. */
async function attempt(doing, step) {
  problem(null);
  byId("reading").textContent = doing;
  try {
    await step();
    byId("reading").textContent = "";
  } catch (refused) {
    problem(refused.message);
    byId("problem").scrollIntoView({ block: "nearest" });
  }
}

async function list() {
  const files = await get(`${root}/api/files`);
  const chosen = byId("file").value;
  byId("file").replaceChildren(make("option", { value: "" }, "Choose …"), ...files.map((name) => make("option", { value: name }, name)));
  byId("file").value = files.includes(chosen) ? chosen : "";
  byId("no-files").hidden = files.length > 0;
  return files;
}

async function look(file, chosen = {}) {
  choices += 1;
  const mine = choices;
  const reply = await post(`${root}/api/look`, { file, roles: chosen });
  if (mine !== choices) return;
  const isNew = found?.file !== file;
  found = reply;
  roles = chosen;
  byId("found").hidden = byId("settings").hidden = false;
  showFacts();
  showRoles(file);
  showSettings(isNew ? file : null);
  if (isNew) byId("name").focus();
}

function showFacts() {
  const facts = [...found.recognised.map(halves), ...found.notes.map((note) => ["note", note])];
  byId("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  byId("shown").replaceChildren(...found.fields.map((fields) => make("div", { class: "item" }, ...render(fields))));
}

/** The columns, each with its role, which can be chosen. */
function showRoles(file) {
  const cells = found.roles.map((one) => [one.name, roleOf(one, file), one.why, one.example.slice(0, 40)]);
  byId("roles").replaceChildren(table("Columns", ["column", "role", "why", "example"], cells));
}

function roleOf(column, file) {
  const names = [...new Set([column.role, ...byId("roles").dataset.roles.split(",")])];
  const change = ({ target }) =>
    attempt("Reading the file …", () => look(file, { ...roles, [column.name]: target.value })).then(() => showRoles(file));
  return make("select", { "aria-label": `Role of ${column.name}`, on: { change } }, ...names.map((name) => make("option", {}, name)));
}

/** A line such as `items: 12` in two. */
function halves(line) {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}

function showSettings(file) {
  if (file) byId("name").value = file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-");
  const first = found.metrics[0];
  byId("metrics").replaceChildren(...found.metrics.map((name) => choice("metric", name, name === first)));
  const judges = found.models.filter(Boolean);
  byId("judge_columns-field").hidden = judges.length < 2;
  byId("judge_columns").replaceChildren(...judges.map((name) => choice("judge", name, true)));
  const slices = sliceColumns();
  byId("slices-field").hidden = !slices.length;
  byId("slices").replaceChildren(...slices.map((name) => choice("slice", name, false)));
  byId("budget").value = found.plan ? Math.min(Math.max(found.plan.likely, 1), found.pool_size) : Math.min(200, found.pool_size);
  byId("plan").textContent = found.plan ? planText(found.plan) : "";
}

/** Columns that may be slices: short text in all rows that are shown. */
function sliceColumns() {
  const isShort = (value) => typeof value === "boolean" || (typeof value === "string" && value.length <= LONGEST_SLICE);
  const columns = Object.keys(found.shown[0] ?? {});
  return columns.filter((name) => found.shown.every((row) => isShort(row[name]))).slice(0, MOST_SLICES);
}

function planText(plan) {
  const range = `likely between ${plan.low.toLocaleString("en")} and ${plan.high.toLocaleString("en")}`;
  return (
    `An interval for ${plan.metric} that is ${plan.width} wide takes about ${count(plan.likely, "label")} (${range}); ` +
    `random labels would take ${plan.uniform.toLocaleString("en")}.`
  );
}

function choice(kind, value, isChosen) {
  return make("label", {}, make("input", { type: "checkbox", name: kind, value, checked: isChosen }), value);
}

function chosen(kind) {
  return [...document.querySelectorAll(`input[name=${kind}]:checked`)].map((one) => one.value);
}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const readers = {
  list: lines,
  dict: (text) => Object.fromEntries(lines(text).map((line) => [line.slice(0, line.lastIndexOf("=")), line.slice(line.lastIndexOf("=") + 1)])),
  int: Number,
  float: Number,
};

/** The options as they were declared; one that is left empty keeps its default. */
function options() {
  const given = {};
  for (const one of document.querySelectorAll("[data-kind]")) {
    const read = readers[one.dataset.kind] ?? ((text) => text);
    if (one.type === "checkbox") given[one.id] = one.checked;
    else if (one.value.trim()) given[one.id] = read(one.value);
  }
  return given;
}

async function create() {
  const name = byId("name").value.trim();
  const judges = chosen("judge");
  await post(`${root}/api/campaigns`, {
    ...options(),
    roles,
    name,
    file: found.file,
    metrics: chosen("metric"),
    judge_columns: judges.length < found.models.filter(Boolean).length ? judges : [],
    slices: chosen("slice"),
  });
  location.assign(pageOf(name));
}

async function upload(file) {
  choices += 1;
  const saved = await put(`${root}/api/files/${encodeURIComponent(file.name)}`, file);
  await list();
  byId("file").value = saved.file;
  await look(saved.file);
}

byId("file").addEventListener("change", ({ target }) => target.value && attempt("Reading the file …", () => look(target.value)));
byId("upload")?.addEventListener("change", ({ target }) => target.files[0] && attempt("Sending the file …", () => upload(target.files[0])));
byId("choose").addEventListener("submit", (event) => event.preventDefault());
byId("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt("Drawing the first items …", create);
});

attempt("", async () => {
  const files = await list();
  if (files.length === 1 && !choices) {
    byId("file").value = files[0];
    await look(files[0]);
  }
});
