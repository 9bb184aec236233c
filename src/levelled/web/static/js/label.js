// The labelling page: one item at a time, by keyboard, touch or mouse. Answers go through the outbox, and the next item
// is asked for while the answer is on its way. An item is kept for the labeller from the moment it is asked for until the
// answer, or until the page is left: what somebody has and does not answer keeps the labels of the others waiting.

import { apiOf, campaign, get, post, root, visitor } from "./api.js";
import { render } from "./content.js";
import { byId, make, markup } from "./dom.js";
import { History } from "./history.js";
import { Outbox } from "./outbox.js";
import { Questions, digitOf } from "./questions.js";
import { showWaiting } from "./waiting.js";

const RENEWALS = 4; // in the time for which an item is kept: one that gets lost does no harm
const MOST_DONE = 1000; // draws that a request may name
const RETRY_AFTER = 1000;
const COUNT_AFTER = 1000;

const article = byId("item");
const form = byId("answer");
const note = byId("note");

class Desk {
  constructor(settings) {
    this.settings = settings;
    this.items = [];
    this.asking = null;
    this.message = null;
    this.isPaused = false;
    this.outbox = new Outbox(`${root} ${settings.key} ${visitor}`, (_, sent) => this.noticed(sent));
    // Answers from before a reload: a list of items that the server made before it stored them must not bring them back.
    this.done = new Set(this.outbox.entries.keys());
    this.questions = new Questions(byId("questions"), settings.questions, () => this.submit());
    this.history = new History(this);
    byId("save").hidden = !this.questions.needsSaving;
    this.showGuidelines();
    this.showProgress();
    this.showState();
    this.outbox.flush();
  }

  get current() {
    return this.items[0] ?? null;
  }

  /** Ask for an item if there is none; a second call joins the first. */
  fill() {
    if (this.current || this.isPaused) return null;
    this.asking ??= this.ask().finally(() => {
      this.asking = null;
      if (article.dataset.draw !== String(this.current?.draw)) this.show();
    });
    return this.asking;
  }

  async ask() {
    const besides = [...this.done].slice(-MOST_DONE); // answered, but perhaps not stored yet
    try {
      const reply = await post(apiOf("/ask"), { n: 1, lease_seconds: this.settings.away_seconds, besides });
      this.message = reply.note;
      this.take(reply.items);
    } catch (refused) {
      this.message = refused.message;
      if (refused.isPassing) this.retry();
    }
  }

  retry() {
    setTimeout(() => this.fill(), RETRY_AFTER);
  }

  take(items) {
    const known = new Set([...this.items.map((item) => item.draw), ...this.done]);
    const isNew = items.filter((item) => !known.has(item.draw));
    this.items.push(...isNew);
    if (items.length && !this.current) this.retry(); // answered while this reply was on its way
  }

  show() {
    const item = this.current;
    const isBusy = !item && this.asking !== null; // the item before stays in view until the next one is here
    article.ariaBusy = String(isBusy);
    article.dataset.draw = item?.draw ?? "";
    if (isBusy) return;
    form.hidden = item === null;
    if (item === null) {
      const why = sentence(this.message ?? "There is nothing to label at the moment.");
      const next = make("button", { type: "button", on: { click: () => this.resume() } }, "Next item");
      article.replaceChildren(make("p", { class: "empty" }, why), this.isPaused ? next : "");
      if (byId("announce").textContent !== why) byId("announce").textContent = why;
      return;
    }
    this.questions.clear();
    note.value = "";
    article.setAttribute("aria-label", `Item, draw ${item.draw}`);
    article.replaceChildren(...render(item.fields));
    article.classList.remove("fresh");
    requestAnimationFrame(() => article.classList.add("fresh"));
    window.scrollTo(0, 0);
    byId("announce").textContent = `New item, draw ${item.draw}`;
    if (!this.questions.focus()) article.focus({ preventScroll: true });
  }

  /** Keep the answer and show the next item at once. */
  submit() {
    if (!this.current) return;
    let answer;
    try {
      answer = this.questions.answer();
    } catch (wrong) {
      return this.complain(wrong.message);
    }
    if (!answer) return this.complain("Answer the first question, the label, before you save.");
    if (note.value.trim()) answer.note = note.value.trim();
    const { draw } = this.current;
    this.settings.n_labels += 1;
    this.leave("tell", { answers: [{ draw, ...answer }] });
  }

  leave(step, body) {
    const item = this.items.shift();
    this.complain(null);
    this.done.add(item.draw);
    this.history.remember(item);
    this.outbox.add(step, item.draw, body);
    this.fill();
    this.show();
    this.showProgress();
  }

  /** Take the last label back, from the outbox or from the server, and show its item again. */
  async undo() {
    const entry = this.outbox.takeBack();
    try {
      let draw = entry?.draw;
      if (!entry) {
        await this.outbox.flush();
        [draw] = (await post(apiOf("/undo"), { lease_seconds: this.settings.away_seconds })).draws;
        const kept = (await get(apiOf("/history"))).find((one) => one.draw === draw);
        if (kept) return this.restored(kept);
      }
      this.settings.n_labels -= 1;
      await this.reopen(draw, entry?.body.answers[0]);
    } catch (refused) {
      this.complain(refused.message);
    }
  }

  /** Say that a change of a label was taken back, which leaves the label before. */
  restored(kept) {
    this.history.refresh();
    this.complain(`Draw ${kept.draw} has the label “${kept.label}” again.`);
  }

  async reopen(draw, answer) {
    const item = this.history.known(draw) ?? (await get(apiOf(`/items/${draw}`)));
    this.done.delete(draw);
    this.items = [item, ...this.items.filter((one) => one.draw !== draw)];
    this.show();
    if (answer) this.questions.set(answer);
    note.value = answer?.note ?? "";
    this.showProgress();
    this.history.refresh();
  }

  /** Keep the item while somebody looks at it, or look if there is one by now. */
  async renew() {
    if (document.hidden) return;
    if (!this.current) return void this.fill();
    try {
      const draws = this.items.map((item) => item.draw);
      const reply = await post(apiOf("/renew"), { draws, lease_seconds: this.settings.away_seconds });
      const own = new Set(reply.items.map((item) => item.draw));
      const lost = this.items.filter((item) => draws.includes(item.draw) && !own.has(item.draw));
      if (lost.length) this.lose(lost);
      await this.count();
    } catch (refused) {
      if (!refused.isPassing) this.complain(refused.message);
    }
  }

  /** Drop items that others have. Nothing new is asked for until the labeller says so, who may be away. */
  lose(lost) {
    this.items = this.items.filter((item) => !lost.includes(item));
    this.isPaused = !this.current;
    this.message = "You were away, or the item was given to somebody else";
    this.show();
  }

  resume() {
    this.isPaused = false;
    this.fill();
    this.show();
  }

  /** Give back what is not answered, so that the next labeller who asks gets it. */
  giveBack() {
    const draws = this.items.map((item) => item.draw);
    if (draws.length) post(apiOf("/return"), { draws }, { keepalive: true }).catch(() => {});
  }

  noticed(sent) {
    this.showState();
    if (!sent) return;
    this.history.refresh();
    if (!this.current) this.fill();
    clearTimeout(this.counting);
    this.counting = setTimeout(() => this.count(), COUNT_AFTER);
  }

  /** Count what is stored, by others too, once this labeller pauses. */
  async count() {
    if (this.outbox.waiting.length) return;
    try {
      const { n_labels, budget, waiting } = await get(apiOf(""));
      if (!this.outbox.waiting.length) Object.assign(this.settings, { n_labels, budget, waiting });
      this.showProgress();
    } catch {
      return; // the state of the connection is shown elsewhere
    }
  }

  showState() {
    const n = this.outbox.waiting.length;
    const state = byId("state");
    const { problem, refused } = this.outbox;
    state.classList.toggle("waiting", Boolean(problem));
    const answers = n === 1 ? "1 answer is" : `${n} answers are`;
    if (problem) state.textContent = `${problem.message} ${answers} kept here and will be sent again.`;
    else state.textContent = n ? "Saving …" : "All answers are saved";
    byId("problems").replaceChildren(...refused.map((entry) => this.refusal(entry)));
  }

  refusal(entry) {
    const dismiss = () => {
      this.outbox.drop(entry.draw);
      this.done.delete(entry.draw);
      this.showState();
    };
    const label = entry.body.answers?.[0].label;
    const outcome = entry.isKept ? "will not count" : "is not stored";
    const what = label === undefined ? `Draw ${entry.draw}` : `Your label “${label}” of draw ${entry.draw} ${outcome}`;
    const button = make("button", { type: "button", on: { click: dismiss } }, "Dismiss");
    return make("div", { class: "problem" }, `${what}: ${entry.refused}`, make("div", { class: "row" }, button));
  }

  complain(why) {
    const shown = this.outbox.refused.map((entry) => this.refusal(entry));
    if (why) shown.push(make("p", { class: "problem" }, why));
    byId("problems").replaceChildren(...shown);
  }

  showProgress() {
    const { n_labels: n, budget } = this.settings;
    byId("progress").hidden = budget === null;
    byId("progress").max = budget ?? 1;
    byId("progress").value = n;
    byId("count").textContent = budget === null ? `${n} labels` : `${n} of ${budget} labels`;
    showWaiting(this.settings.waiting, () => this.count());
  }

  showGuidelines() {
    const panel = byId("guidelines");
    panel.hidden = !this.settings.guidelines;
    if (panel.hidden) return;
    const { html, text } = this.settings.guidelines;
    panel.open = window.matchMedia("(min-width: 60rem)").matches;
    panel.querySelector(".markdown").replaceWith(html === null ? make("div", { class: "text" }, text) : markup(html));
  }
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

function openSkip(desk) {
  const dialog = byId("skipping");
  if (!desk.current) return;
  dialog.returnValue = "";
  byId("reason").value = "";
  dialog.showModal();
  byId("reason").focus();
}

/** Keys of the page; typed text and open windows have theirs. */
function onKey(desk, event) {
  if (document.querySelector("dialog[open]") || event.isComposing) return;
  const isTyping = event.target.matches("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isTyping) return act(event, () => desk.undo());
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const digit = digitOf(event);
  if (digit && desk.current) {
    if (!event.repeat && desk.questions.press(digit)) event.preventDefault();
    return;
  }
  const step = KEYS[event.key];
  if (step && !event.repeat) act(event, () => step(desk));
  else if (event.key === "Enter" && !event.repeat && isFree(event.target)) act(event, () => form.requestSubmit());
}

/** True where Enter does nothing by itself, or would only pick what is picked. */
function isFree(target) {
  return !target.closest("a, button, summary") || target.ariaPressed === "true";
}

function act(event, step) {
  event.preventDefault();
  step();
}

const KEYS = {
  s: openSkip,
  Backspace: (desk) => desk.undo(),
  f: () => note.focus(),
  g: () => (byId("guidelines").open = !byId("guidelines").open),
  "?": () => byId("help").showModal(),
  ArrowDown: (desk) => !desk.questions.isSingle && desk.questions.move(1),
  ArrowUp: (desk) => !desk.questions.isSingle && desk.questions.move(-1),
};

function connect(desk) {
  document.addEventListener("keydown", (event) => onKey(desk, event));
  form.addEventListener("submit", (event) => act(event, () => desk.submit()));
  byId("skip").addEventListener("click", () => openSkip(desk));
  byId("undo").addEventListener("click", () => desk.undo());
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  for (const button of document.querySelectorAll("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close(""));
  }
  byId("skipping").addEventListener("close", () => {
    const step = byId("skipping").returnValue;
    if (step && desk.current) desk.leave(step, { draw: desk.current.draw, reason: byId("reason").value.trim() });
  });
  setInterval(() => desk.renew(), (desk.settings.away_seconds * 1000) / RENEWALS);
  document.addEventListener("visibilitychange", () => desk.renew());
  window.addEventListener("pagehide", () => desk.giveBack());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
}

async function start() {
  try {
    const desk = new Desk(await get(apiOf("")));
    connect(desk);
    await desk.fill();
  } catch (refused) {
    article.replaceChildren(make("p", { class: "problem", role: "alert" }, `${campaign}: ${refused.message}`));
    if (refused.isPassing) setTimeout(start, RETRY_AFTER);
  }
}

start();
