// The questions of an item: choices with keys, ratings, numbers and text.

import { make } from "./dom.js";

const MOST_KEYS = 20;

/** The key of the choice at a position: 1 to 9 and 0, then the same with Shift. */
function keyAt(position) {
  return position < MOST_KEYS ? `${position >= 10 ? "⇧" : ""}${(position + 1) % 10}` : "";
}

/** The digit of a key press by its place on the keyboard, and whether Shift is held; null for other keys. */
export function digitOf(event) {
  const match = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  return match ? { digit: Number(match[1]), shift: event.shiftKey } : null;
}

class Question {
  constructor(declared, picked) {
    this.declared = declared;
    this.value = null;
    this.input = null;
    this.choices = choicesOf(declared);
    this.element = make("fieldset", { class: `question ${declared.kind}` }, make("legend", {}, titleOf(declared)));
    this.buttons = this.choices.map((choice) =>
      make(
        "button",
        { type: "button", "aria-pressed": "false", on: { click: () => (this.pick(choice.value), picked(this)) } },
        choice.text,
        choice.key && choice.key !== choice.text ? make("kbd", { "aria-hidden": "true" }, choice.key) : null,
      ),
    );
    if (!this.buttons.length || declared.more) this.input = this.makeInput();
    this.element.append(this.buttons.length ? make("div", { class: "choices" }, ...this.buttons, this.input) : this.input);
  }

  makeInput() {
    const { name, kind, more } = this.declared;
    const input = make("input", {
      type: "text",
      inputmode: kind === "number" ? "decimal" : null,
      maxlength: 1000,
      autocomplete: "off",
      placeholder: more ? "Another class" : kind === "number" ? limits(this.declared) : "",
      "aria-label": more ? `${name}: another class` : name,
    });
    input.addEventListener("input", () => this.mark(null));
    return input;
  }

  pick(value) {
    this.mark(value);
    if (this.input) this.input.value = "";
  }

  mark(value) {
    this.value = value;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(this.choices[at].value === value)));
  }

  /** The value that a digit picks; undefined if it picks none. */
  byDigit({ digit, shift }) {
    const key = `${shift ? "⇧" : ""}${digit}`;
    return this.choices.find((choice) => choice.key === key)?.value;
  }

  /** The answer; null if there is none. Refuses text that is no number where a number is asked for. */
  answer() {
    const text = this.input?.value.trim() ?? "";
    if (this.value !== null || !text) return this.value;
    if (this.declared.kind !== "number") return text;
    const number = Number(text.replace(",", "."));
    const { name, low, high } = this.declared;
    const fits = Number.isFinite(number) && number >= (low ?? -Infinity) && number <= (high ?? Infinity);
    if (!fits) throw new Error(`The answer to “${name}” must be ${limits(this.declared) || "a number"}.`);
    return number;
  }

  set(value) {
    const isChoice = this.choices.some((choice) => choice.value === value);
    this.mark(isChoice ? value : null);
    if (this.input) this.input.value = isChoice || value === null || value === undefined ? "" : String(value);
  }
}

function choicesOf({ kind, classes, low, high }) {
  if (kind === "classes") return classes.map((name, at) => ({ value: name, text: name, key: keyAt(at) }));
  if (kind !== "rating") return [];
  const values = Array.from({ length: high - low + 1 }, (_, at) => low + at);
  const areDigits = low >= 0 && high <= 9;
  return values.map((value, at) => ({ value, text: String(value), key: areDigits ? String(value) : keyAt(at) }));
}

function titleOf({ name, kind, low, high }) {
  return kind === "rating" ? `${name} (${low} to ${high})` : name;
}

function limits({ low, high }) {
  return low === null || low === undefined ? "" : `a number from ${low} to ${high}`;
}

/** All questions of an item; the first is the label. */
export class Questions {
  /** `completed` is called when the only question is answered by a choice. */
  constructor(container, declared, completed) {
    this.all = declared.map((one) => new Question(one, (question) => this.picked(question)));
    this.completed = completed;
    this.at = 0;
    container.replaceChildren(...this.all.map((one) => one.element));
    this.activate(0);
  }

  get isSingle() {
    return this.all.length === 1;
  }

  /** True if an answer is saved by Enter and not by the choice itself. */
  get needsSaving() {
    return !this.isSingle || this.all[0].input !== null;
  }

  picked(question) {
    if (this.isSingle) return this.completed();
    const at = this.all.indexOf(question);
    this.activate(Math.min(at + 1, this.all.length - 1));
  }

  /** Pick by a digit in the active question; false if the digit means nothing there. */
  press(digit) {
    const question = this.all[this.at];
    const value = question.byDigit(digit);
    if (value === undefined) return false;
    question.pick(value);
    this.picked(question);
    return true;
  }

  move(step) {
    this.activate(Math.max(0, Math.min(this.at + step, this.all.length - 1)));
  }

  activate(at) {
    this.at = at;
    this.all.forEach((one, position) => one.element.classList.toggle("active", position === at));
    const question = this.all[at];
    if (question.input && !question.buttons.length && at > 0) question.input.focus();
  }

  /** The label and the rubric; null without a label. */
  answer() {
    const [label, ...rest] = this.all.map((one) => one.answer());
    if (label === null) return null;
    const names = this.all.slice(1).map((one) => one.declared.name);
    const given = names.map((name, at) => [name, rest[at]]).filter(([, value]) => value !== null);
    return given.length ? { label, rubric: Object.fromEntries(given) } : { label };
  }

  clear() {
    this.set({ label: null, rubric: {} });
    this.activate(0);
  }

  set({ label, rubric = {} }) {
    this.all.forEach((one, at) => one.set(at === 0 ? label : (rubric?.[one.declared.name] ?? null)));
  }

  /** Put the cursor where the label is typed, if it is typed. */
  focus() {
    const [first] = this.all;
    if (first.input && !first.buttons.length) first.input.focus();
    return Boolean(first.input && !first.buttons.length);
  }
}
