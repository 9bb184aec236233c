// The figures of a campaign, which follow every label. All numbers come from the functions of the command line.

import { apiOf, campaign, get, pageOf } from "./api.js";
import { Chart } from "./chart.js";
import { byId, make, table } from "./dom.js";
import { listen } from "./live.js";
import { amount, count, number, randomLabels, seconds, time } from "./numbers.js";
import { showWaiting } from "./waiting.js";

const MOST_ROWS = 20;
const MOST_ITEMS = 10;
const MOST_JUDGES = 4;
const LOOK_EVERY = 60_000; // for labels that wait, of which no event tells

const chart = new Chart(byId("chart"));
let isRefreshing = false;
let isStale = false;

/** Read everything again; changes that arrive meanwhile lead to one more reading. */
async function refresh() {
  isStale = true;
  if (isRefreshing || document.hidden) return;
  isRefreshing = true;
  try {
    while (isStale) {
      isStale = false;
      await read();
    }
    problem(null);
  } catch (refused) {
    problem(refused.message);
    if (refused.isPassing) setTimeout(refresh, 2000);
  } finally {
    isRefreshing = false;
  }
}

async function read() {
  const first = [get(apiOf("")), get(apiOf("/estimate")), get(apiOf("/headline"))];
  const [settings, figures, headline] = await Promise.all(first);
  showHeadline(settings, figures, headline);
  showFigures(figures);
  const parts = ["/trajectory", "/compare", "/labellers", "/open", "/diagnostics", "/predictor", "/important"];
  const replies = await Promise.allSettled([...parts.map((part) => get(apiOf(part))), judges(settings, figures[0])]);
  const [history, comparisons, labellers, open, weights, learnt, important, judged] = replies.map((one) => one.value ?? null);
  showHistory(settings, history ?? []);
  showComparisons(comparisons ?? []);
  showJudges(judged ?? []);
  showLabellers(settings, labellers ?? []);
  showOpen(open ?? []);
  showWeights(weights);
  showLearnt(learnt, important ?? []);
  const refused = replies.find((one) => one.status === "rejected");
  if (refused) throw refused.reason; // one part that is refused leaves the others as they are
}

function problem(why) {
  byId("problem").hidden = why === null;
  byId("problem").textContent = why ?? "";
}

function nameOf(figure) {
  return [figure.metric, figure.model, figure.slice].filter(Boolean).join(" · ");
}

function showHeadline(settings, figures, { sentence, trust, notes }) {
  const [first] = figures;
  byId("sentence").textContent = sentence;
  byId("trust").textContent = trust;
  byId("reading").textContent = notes.join(" ");
  const warnings = [...new Set(figures.flatMap((one) => one.warnings.map((text) => `${nameOf(one)}: ${text}`)))];
  byId("warnings").hidden = !warnings.length;
  byId("warnings").replaceChildren(...warnings.slice(0, MOST_ROWS).map((text) => make("li", {}, text)));
  showTiles(settings, first);
  showWaiting(settings.waiting, refresh);
  const value = first.value === null ? "" : `${amount(first.value, first.metric)} · `;
  document.title = `${value}${campaign} · Levelled`;
}

function showTiles(settings, first) {
  const budget = settings.budget === null ? "" : ` of ${settings.budget.toLocaleString("en")}`;
  const tiles = [
    ["labels", `${settings.n_labels.toLocaleString("en")}${budget}`],
    ["settled draws", first.n_settled.toLocaleString("en")],
    ["wait for a label", settings.n_pending.toLocaleString("en")],
    ["random labels for this width", randomLabels(first).replace(" for this width", "") || "–"],
  ];
  if (settings.n_unlabelable) tiles.push(["cannot be labelled", settings.n_unlabelable.toLocaleString("en")]);
  if (settings.closed !== null) tiles.push(["closed", settings.closed]);
  byId("tiles").replaceChildren(
    ...tiles.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { data: { tile: name } }, value))),
  );
}

const FIGURE_COLUMNS = ["metric", "model", "slice", "value", "low", "high", "random labels"];

function figureRow(one) {
  return [one.metric, one.model, one.slice, ...["value", "low", "high"].map((k) => number(one[k])), randomLabels(one)];
}

function showFigures(figures) {
  const used = FIGURE_COLUMNS.map((name, at) => figures.map(figureRow).some((row) => row[at] && row[at] !== "–"));
  const keep = (row) => row.filter((_, at) => used[at]);
  const numeric = FIGURE_COLUMNS.slice(3);
  byId("figures").replaceChildren(table("All figures", keep(FIGURE_COLUMNS), figures.map(figureRow).map(keep), numeric));
}

function showHistory(settings, history) {
  byId("history").hidden = !history.length;
  if (!history.length) return;
  chart.show(history, settings.looks, settings.budget);
  const last = history.at(-1);
  byId("chart-text").textContent =
    `After ${count(last.n_settled, "draw")}, ${last.metric} is ${amount(last.value, last.metric)}, interval ` +
    `${amount(last.low, last.metric)} to ${amount(last.high, last.metric)}` +
    (last.worth === null ? "." : `; random labels: ${randomLabels(last)}.`);
  const rows = history.map((one) => [one.n_settled, one.value, one.low, one.high, one.random_low, one.random_high]);
  const columns = ["draws", "value", "low", "high", "random low", "random high"];
  const cells = rows.map(([draws, ...rest]) => [String(draws), ...rest.map(number)]);
  byId("history-table").replaceChildren(table("Estimate after each number of draws", columns, cells, columns));
}

/** Show a section with its content, or hide it where there is none. */
function fill(id, ...content) {
  byId(id).hidden = !content.length;
  byId(id).querySelector(".content").replaceChildren(...content);
}

function showComparisons(comparisons) {
  if (!comparisons.length) return fill("comparisons");
  const rows = comparisons.map((one) => [one.metric, one.slice, one.model, one.against, one.verdict]);
  fill("comparisons", table("Paired differences", ["metric", "slice", "model", "against", "verdict"], rows));
}

/** The verdicts of models against the labels, where the first metric counts a class or averages ratings. */
async function judges({ models }, { metric, n_settled }) {
  if (!n_settled || !/^(share:|mean\b)/.test(metric)) return [];
  const reports = models.slice(0, MOST_JUDGES).map((model) =>
    get(apiOf("/judge", { model: model || null })).catch((refused) => {
      if (refused.isPassing) throw refused;
      return null; // the model gives no verdicts of this kind
    }),
  );
  return (await Promise.all(reports)).filter(Boolean);
}

function showJudges(reports) {
  fill("judges", ...reports.flatMap(judgeParts));
}

function judgeParts({ judge, figures, unattended }) {
  const rows = figures.map((one) => [
    one.of === null ? one.figure : `${one.figure}, ${one.of}`,
    one.raw === null ? "" : number(one.raw),
    number(one.value),
    number(one.low),
    number(one.high),
  ]);
  const columns = ["figure", "as the judge says", "value", "low", "high"];
  const verdict = unattended ? [make("p", {}, `Used unattended? ${unattended.answer}: ${unattended.because}.`)] : [];
  return [make("h3", {}, judge), table(`Verdicts of ${judge}`, columns, rows, columns.slice(1)), ...verdict];
}

function showLabellers(settings, labellers) {
  if (!labellers.length) return fill("labellers");
  const columns = ["labeller", "labels", "open", "a label takes", "last"];
  const rows = labellers.map((one) => [one.name ?? "(no name)", String(one.n_labels), String(one.n_open), seconds(one.seconds), time(one.last)]);
  const content = [table("Labellers", columns, rows, ["labels", "open", "a label takes"])];
  const { agreement } = settings;
  if (agreement) {
    const kappa = agreement.kappa === null || agreement.kappa === undefined ? "" : `, kappa ${number(agreement.kappa)}`;
    const share = `${(100 * agreement.share).toFixed(1)}%`;
    content.push(make("p", {}, `Two labellers agree on ${share} of ${count(agreement.n_items, "item")}${kappa}.`));
  }
  fill("labellers", ...content);
}

function showOpen(open) {
  if (!open.length) return fill("open");
  const rows = open.slice(0, MOST_ROWS).map((one) => [String(one.draw), String(one.id), one.owner ?? "", time(one.since), time(one.until)]);
  const more = open.length - rows.length;
  const rest = more > 0 ? [make("p", { class: "soft" }, `and ${more} more`)] : [];
  fill("open", table("Items that wait for a label", ["draw", "id", "labeller", "since", "until"], rows, ["draw"]), ...rest);
}

function showWeights(weights) {
  if (!weights) return fill("weights");
  const text =
    `The largest weight is ${weights.max_weight.toFixed(2)}; weights are as uneven as those of ` +
    `${weights.effective_size.toFixed(0)} equal labels.`;
  const columns = ["draw", "id", "label", "weight", "share of the variance"];
  const rows = weights.items
    .slice(0, MOST_ITEMS)
    .map((one) => [String(one.draw), String(one.id), String(one.label ?? ""), one.weight.toFixed(2), meter(one.variance_share)]);
  const items = rows.length ? [make("h3", {}, "Labels that matter most"), table("Labels that matter most", columns, rows, ["draw", "weight"])] : [];
  fill("weights", make("p", {}, text), ...items);
}

function meter(share) {
  const bar = make("span", { class: "meter" });
  bar.style.width = `${Math.round(60 * share)}px`;
  return make("span", {}, bar, ` ${(100 * share).toFixed(0)}%`);
}

function showLearnt(learnt, important) {
  if (!learnt) return fill("learnt");
  const content = [make("p", {}, `${learnt.summary.charAt(0).toUpperCase()}${learnt.summary.slice(1)}.`)];
  if (learnt.effects.length) {
    const rows = learnt.effects.map((one) => [one.column, one.factor.toFixed(2)]);
    content.push(table("Columns", ["column", "factor"], rows, ["factor"]));
  }
  if (important.length) {
    const rows = important.slice(0, MOST_ITEMS).map((one) => [String(one.id), number(one.expected_loss)]);
    content.push(make("h3", {}, "Items most likely to be wrong"), table("Items most likely to be wrong", ["id", "expected loss"], rows, ["expected loss"]));
  }
  fill("learnt", ...content);
}

async function showPlan(event) {
  event.preventDefault();
  const output = byId("plan-text");
  try {
    const plan = await get(apiOf("/plan", { width: byId("width").value }));
    const left = plan.remaining ?? plan.likely;
    output.textContent =
      `About ${count(left, "more label")}: ${plan.likely.toLocaleString("en")} in all, likely between ` +
      `${plan.low.toLocaleString("en")} and ${plan.high.toLocaleString("en")}; random labels would take ` +
      `${plan.uniform.toLocaleString("en")}.`;
  } catch (refused) {
    output.textContent = refused.message;
  }
}

byId("plan").addEventListener("submit", showPlan);
setInterval(refresh, LOOK_EVERY);
byId("label-link").href = pageOf(campaign, "/label");
byId("report-link").href = apiOf("/report");
for (const link of document.querySelectorAll("[data-export]")) link.href = apiOf("/export", { format: link.dataset.export });
document.addEventListener("visibilitychange", () => isStale && refresh());
listen(campaign, refresh, (isLive, why) => {
  byId("live").textContent = isLive ? "Live" : (why ?? "Not connected");
  byId("live").classList.toggle("waiting", !isLive);
});
refresh();
