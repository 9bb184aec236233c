// The REST interface: JSON in, JSON out, and errors with the line that the server wrote.

const page = document.body.dataset;
export const root = page.root;
export const campaign = page.campaign;
export const visitor = page.visitor;
export const isAnalyst = page.role === "analyst";

/** A request that the server refused (`status` is its code) or that never reached it (`status` is 0). */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** True if the same request may succeed later. */
  get isPassing() {
    return this.status === 0 || this.status === 401 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export function pageOf(name, part = "") {
  return `${root}/c/${encodeURIComponent(name)}${part}`;
}

export function apiOf(part, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const search = new URLSearchParams(known).toString();
  return `${root}/api/campaigns/${encodeURIComponent(campaign)}${part}${search && `?${search}`}`;
}

export async function get(url) {
  return request(url, {});
}

/** With `keepalive` in `options` it is sent even if the page is left meanwhile. */
export async function post(url, body, options = {}) {
  const headers = { "content-type": "application/json" };
  return request(url, { ...options, method: "POST", body: JSON.stringify(body), headers });
}

export async function put(url, body) {
  return request(url, { method: "PUT", body });
}

async function request(url, options) {
  let response;
  try {
    response = await fetch(url, {
      ...options,
      credentials: "same-origin",
      cache: "no-store",
      headers: { "x-levelled": "1", accept: "application/json", ...options.headers },
    });
  } catch {
    throw new Refused(0, "The server cannot be reached.");
  }
  const text = await response.text().catch(() => null);
  if (text === null) throw new Refused(0, "The connection broke off.");
  if (response.ok) return JSON.parse(text);
  throw new Refused(response.status, messageOf(text) ?? `The server refused this (${response.status}).`);
}

function messageOf(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return null;
  }
}
