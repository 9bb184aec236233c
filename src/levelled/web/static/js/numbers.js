// Numbers as text, in the words of the command line.

const SHARES = ["error", "accuracy", "precision", "recall", "specificity", "f1", "share"];

/** A number with four digits behind the point, as `levelled estimate` prints it. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) < 1000 ? value.toFixed(4) : String(Number(value.toPrecision(6)));
}

/** A value of a metric for a sentence: shares in per cent. */
export function amount(value, metric) {
  if (value === null || value === undefined) return "–";
  return SHARES.includes(metric.split(":")[0]) ? `${(100 * value).toFixed(1)}%` : number(value);
}

/** About how many random labels give an interval of the width of a figure; "" where it is not known. */
export function randomLabels({ worth }) {
  return worth === null ? "" : `about ${Number(worth.toPrecision(2)).toLocaleString("en")} for this width`;
}

export function count(n, noun) {
  return n === 1 ? `1 ${noun}` : `${n.toLocaleString("en")} ${noun}s`;
}

/** A time of the log, as the reader's clock shows it. */
export function time(text) {
  if (!text) return "";
  const at = new Date(text);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? at.toLocaleTimeString("en-GB") : at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

export function seconds(value) {
  if (value === null) return "–";
  return value < 120 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${(value / 60).toFixed(0)} min`;
}
