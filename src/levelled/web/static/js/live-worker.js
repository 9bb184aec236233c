// One connection to each campaign's stream of changes, shared by all tabs: a browser opens only six to a server.

const RETRY_AFTER = 2000;
const streams = new Map(); // address -> { source, ports }

self.addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data }) => (data.leave ? leave(data.url, port) : join(data.url, port)));
  port.start();
});

function join(url, port) {
  const stream = streams.get(url) ?? { source: null, ports: new Set(), isLive: false };
  streams.set(url, stream);
  stream.ports.add(port);
  if (!stream.source) open(url, stream);
  else port.postMessage({ isLive: stream.isLive, isNew: true });
}

function leave(url, port) {
  const stream = streams.get(url);
  stream?.ports.delete(port);
  if (stream && !stream.ports.size) {
    stream.source.close();
    streams.delete(url);
  }
}

function open(url, stream) {
  stream.source = new EventSource(url);
  stream.source.addEventListener("open", () => tell(stream, { isLive: true }));
  stream.source.addEventListener("change", () => tell(stream, { isLive: true, isNew: true }));
  stream.source.addEventListener("error", () => {
    const isRefused = stream.source.readyState === EventSource.CLOSED;
    tell(stream, { isLive: false, isRefused });
    if (isRefused && streams.get(url) === stream) {
      setTimeout(() => streams.get(url) === stream && open(url, stream), RETRY_AFTER);
    }
  });
}

function tell(stream, news) {
  stream.isLive = news.isLive;
  for (const port of stream.ports) port.postMessage(news);
}
