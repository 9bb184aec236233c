// Changes of a campaign as they happen: through a worker that all tabs share, else by a connection while visible.

import { root } from "./api.js";

/**
 * Call `changed()` when the campaign changed, and `isLive(true or false, why)` when the connection comes or goes;
 * `why` is the line of a server that refuses it, else null.
 */
export function listen(campaign, changed, isLive) {
  const url = `${root}/api/events?campaign=${encodeURIComponent(campaign)}`;
  const hear = async (data) => {
    isLive(data.isLive, null);
    if (data.isNew) changed();
    const why = data.isRefused ? await reason(url) : null;
    if (why) isLive(false, why);
  };
  if (typeof SharedWorker === "undefined") listenAlone(url, hear);
  else listenTogether(new URL(url, location.href).href, hear);
}

function listenTogether(url, hear) {
  const { port } = new SharedWorker(`${root}/static/js/live-worker.js`, { name: "levelled" });
  port.addEventListener("message", ({ data }) => hear(data));
  port.start();
  port.postMessage({ url });
  window.addEventListener("pagehide", () => port.postMessage({ url, leave: true }));
  window.addEventListener("pageshow", (event) => event.persisted && port.postMessage({ url }));
}

function listenAlone(url, hear) {
  let source = null;
  const update = () => {
    if (document.hidden) source = source?.close();
    else if (!source) {
      source = new EventSource(url);
      source.addEventListener("open", () => hear({ isLive: true }));
      source.addEventListener("change", () => hear({ isLive: true, isNew: true }));
      source.addEventListener("error", ({ target }) =>
        hear({ isLive: false, isRefused: target.readyState === EventSource.CLOSED }),
      );
    }
  };
  document.addEventListener("visibilitychange", update);
  update();
}

/** Why the server refuses the stream, which an EventSource does not tell; null if it does not. */
async function reason(url) {
  const stop = new AbortController();
  try {
    const response = await fetch(url, { signal: stop.signal, cache: "no-store", headers: { accept: "application/json" } });
    return response.ok ? null : (await response.json()).error;
  } catch {
    return null;
  } finally {
    stop.abort();
  }
}
