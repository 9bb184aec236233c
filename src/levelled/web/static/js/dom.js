// Elements from names, properties and children. Text is always text: only `markup` takes HTML.

export function byId(id) {
  return document.getElementById(id);
}

/** An element; `class`, `on` (listeners), `data` and attributes come as properties, children as nodes or text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element with HTML that the server has made and sanitised. */
export function markup(html) {
  const element = make("div", { class: "markdown" });
  element.innerHTML = html;
  return element;
}

/** A table that can be scrolled by keyboard; cells are text or nodes, and numeric columns are marked by name. */
export function table(caption, columns, rows, numeric = []) {
  const kind = (name) => (numeric.includes(name) ? "number" : null);
  const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col", class: kind(name) }, name)));
  const body = rows.map((row) =>
    make("tr", {}, ...row.map((cell, at) => make("td", { class: kind(columns[at]) }, cell ?? ""))),
  );
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    make("table", {}, make("caption", { class: "hidden-text" }, caption), make("thead", {}, head), make("tbody", {}, ...body)),
  );
}
