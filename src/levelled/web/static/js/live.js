// Changes of a campaign as they happen: through a worker that all tabs share, else by a connection while visible.

import { root } from "./api.js";

/** Call `changed()` when the campaign changed, and `isLive(true or false)` when the connection comes or goes. */
export function listen(campaign, changed, isLive) {
  const url = `${root}/api/events?campaign=${encodeURIComponent(campaign)}`;
  const hear = (data) => {
    isLive(data.isLive);
    if (data.isNew) changed();
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
      source.addEventListener("open", () => hear({ isLive: true, isNew: false }));
      source.addEventListener("change", () => hear({ isLive: true, isNew: true }));
      source.addEventListener("error", () => hear({ isLive: false, isNew: false }));
    }
  };
  document.addEventListener("visibilitychange", update);
  update();
}
