// The labeller's last labels, with undo for the newest and changes for all.

import { apiOf, get, post } from "./api.js";
import { render } from "./content.js";
import { byId, make } from "./dom.js";
import { Questions } from "./questions.js";

const SHOWN = 10;
const REMEMBERED = 50;

export class History {
  constructor(desk) {
    this.desk = desk;
    this.items = new Map();
    this.panel = byId("history");
    this.panel.addEventListener("toggle", () => this.refresh());
    this.dialog = byId("changing");
    this.dialog.querySelector("form").addEventListener("submit", (event) => this.save(event));
    this.panel.open = window.matchMedia("(min-width: 60rem)").matches;
  }

  /** Keep an item, so that it can be shown again without asking the server. */
  remember(item) {
    this.items.delete(item.draw);
    this.items.set(item.draw, item);
    if (this.items.size > REMEMBERED) this.items.delete(this.items.keys().next().value);
  }

  known(draw) {
    return this.items.get(draw);
  }

  async refresh() {
    if (!this.panel.open) return;
    try {
      const labels = await get(apiOf("/history", { n: SHOWN }));
      const rows = labels.map((one) => this.row(one));
      const none = make("li", { class: "soft" }, "None yet.");
      this.panel.querySelector("ol").replaceChildren(...(rows.length ? rows : [none]));
    } catch {
      return; // the state of the connection is shown elsewhere
    }
  }

  row(one) {
    const open = () => this.open(one);
    const change = make("button", { type: "button", class: "quiet", on: { click: open } }, "Change");
    change.setAttribute("aria-label", `Change the label of draw ${one.draw}`);
    const what = make("span", { class: "what" }, make("span", { class: "soft" }, `${one.draw} `), String(one.label));
    return make("li", {}, what, change);
  }

  async open(one) {
    try {
      const item = this.known(one.draw) ?? (await get(apiOf(`/items/${one.draw}`)));
      this.draw = one.draw;
      this.dialog.querySelector(".item").replaceChildren(...render(item.fields));
      this.questions = new Questions(this.dialog.querySelector(".questions"), this.desk.settings.questions, () => {});
      this.questions.set(one);
      this.dialog.showModal();
    } catch (refused) {
      this.desk.complain(refused.message);
    }
  }

  async save(event) {
    event.preventDefault();
    try {
      const answer = this.questions.answer();
      const reply = answer && (await post(apiOf("/amend"), { answers: [{ draw: this.draw, ...answer }] }));
      this.desk.complain(reply?.note);
    } catch (refused) {
      this.desk.complain(refused.message);
    }
    this.dialog.close();
    this.refresh();
  }
}
