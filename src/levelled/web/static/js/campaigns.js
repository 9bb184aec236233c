// The list of campaigns.

import { get, isAnalyst, pageOf, root } from "./api.js";
import { byId, make } from "./dom.js";
import { count } from "./numbers.js";

function card(one) {
  if (one.problem) {
    return make("li", {}, make("h2", {}, one.name), make("p", { class: "problem", role: "alert" }, one.problem));
  }
  const label = make("a", { class: "button", href: pageOf(one.name, "/label") }, "Label", hidden(one.name));
  const figures = make("a", { class: "button", href: pageOf(one.name) }, "Figures", hidden(one.name));
  const links = [one.closed === null ? label : null, isAnalyst ? figures : null];
  const budget = one.budget === null ? "" : ` of ${one.budget.toLocaleString("en")}`;
  const metrics = one.metrics ? ` · ${one.metrics.join(", ")}` : "";
  const text = `${count(one.n_labels, "label")}${budget} · ${count(one.pool_size, "item")}${metrics}`;
  const progress = make("progress", { max: one.budget ?? 1, value: one.n_labels, "aria-label": `Labels of ${one.name}` });
  return make(
    "li",
    {},
    make("div", { class: "row spread" }, make("h2", {}, one.name), make("div", { class: "row" }, ...links)),
    make("p", { class: "soft" }, text),
    one.budget === null ? null : progress,
    one.closed === null ? null : make("p", { class: "soft" }, `Closed: ${one.closed}`),
  );
}

function hidden(name) {
  return make("span", { class: "hidden-text" }, ` ${name}`);
}

function none() {
  const how = isAnalyst
    ? [make("a", { href: `${root}/new` }, "Create one from a file of predictions"), "."]
    : ["Ask whoever sent you the link."];
  return make("li", { class: "empty" }, "There is no campaign yet. ", ...how);
}

async function start() {
  const list = byId("campaigns");
  try {
    const all = await get(`${root}/api/campaigns`);
    list.replaceChildren(...(all.length ? all.map(card) : [none()]));
  } catch (refused) {
    byId("problem").textContent = refused.message;
    byId("problem").hidden = false;
  }
  list.ariaBusy = "false";
}

start();
