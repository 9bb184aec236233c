// Answers wait here until the server has stored them. They lie in the browser's storage, one key a draw, so that a
// reload, a crash or a lost connection loses none, and several tabs do not overwrite each other.

import { apiOf, post } from "./api.js";

const SHORTEST = 500;
const LONGEST = 5000;

export class Outbox {
  /** `key` names the campaign and the labeller; `changed(outbox, sent)` is called after each step. */
  constructor(key, changed) {
    this.prefix = `levelled ${key} `;
    this.changed = changed;
    this.entries = new Map();
    this.problem = null;
    this.pause = SHORTEST;
    this.flushing = null;
    this.sending = null;
    for (const name of stored(this.prefix)) {
      const entry = parse(localStorage.getItem(name));
      if (entry) this.entries.set(entry.draw, entry);
    }
    window.addEventListener("online", () => this.flush());
  }

  /** Entries that are still to be sent, the oldest first. */
  get waiting() {
    return this.sorted((entry) => !entry.refused);
  }

  /** Entries that the server refused, with the reason in `refused`, or kept although they will not count (`isKept`). */
  get refused() {
    return this.sorted((entry) => entry.refused);
  }

  has(draw) {
    return this.entries.has(draw);
  }

  /** Keep an entry: `step` is the route (tell, skip, unlabelable), `draw` its item, `body` what is sent. */
  add(step, draw, body) {
    this.keep({ step, draw, body, at: Date.now(), tries: 0 });
    this.changed(this, null);
    this.flush();
  }

  /** Take back the newest entry that is not on its way; null if there is none. */
  takeBack() {
    const entry = this.waiting.filter((one) => one.step === "tell" && one.draw !== this.sending).at(-1);
    if (!entry) return null;
    this.drop(entry.draw);
    this.changed(this, null);
    return entry;
  }

  drop(draw) {
    this.entries.delete(draw);
    quietly(() => localStorage.removeItem(this.prefix + draw));
  }

  /** Send what waits; a second call joins the first. */
  flush() {
    this.flushing ??= this.sendAll().finally(() => {
      this.flushing = null;
      if (this.problem) setTimeout(() => this.flush(), this.pause);
      else if (this.waiting.length) this.flush();
    });
    return this.flushing;
  }

  async sendAll() {
    for (let entry = this.waiting[0]; entry; entry = this.waiting[0]) {
      this.sending = entry.draw;
      try {
        const { note } = await post(apiOf(`/${entry.step}`), entry.body);
        if (note) this.keep({ ...entry, refused: note, isKept: true });
        else this.drop(entry.draw);
        this.settle(null);
      } catch (refused) {
        if (refused.isPassing) {
          this.keep({ ...entry, tries: entry.tries + 1 });
          this.pause = Math.min(2 * this.pause, LONGEST);
          this.problem = refused;
          this.changed(this, null);
          return;
        }
        this.refuse(entry, refused);
        this.settle(null);
      } finally {
        this.sending = null;
      }
      this.changed(this, entry);
    }
    this.settle(null);
  }

  settle(problem) {
    this.problem = problem;
    this.pause = SHORTEST;
  }

  refuse(entry, refused) {
    const isRepeated = entry.tries > 0 && entry.step !== "tell" && refused.status === 409;
    if (isRepeated) this.drop(entry.draw); // it was stored before the connection broke
    else this.keep({ ...entry, refused: refused.message });
  }

  keep(entry) {
    this.entries.set(entry.draw, entry);
    quietly(() => localStorage.setItem(this.prefix + entry.draw, JSON.stringify(entry)));
  }

  sorted(fits) {
    return [...this.entries.values()].filter(fits).sort((one, other) => one.at - other.at || one.draw - other.draw);
  }
}

function stored(prefix) {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Storage may be full or forbidden; the entries in memory remain. */
function quietly(act) {
  try {
    act();
  } catch {
    return;
  }
}
