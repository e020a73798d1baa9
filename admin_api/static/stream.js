// Streams of server-sent events for the parts marked data-live="ADDRESS" data-live-types="names". One tab holds the stream
// of an address and tells the other tabs (Web Locks), because a browser has six connections for all of them. Each tab
// gets "headgate:stream" events: address; isOpen, or the type and data of an event; isHeld: this tab holds the stream.
const LATE_MS = 1_000;

function listen(address) {
  const here = [...document.querySelectorAll(`[data-live="${address}"]`)];
  const types = new Set(here.flatMap((one) => one.dataset.liveTypes.split(" ")));
  const tabs = new BroadcastChannel(`headgate:${address}`);
  const began = performance.now();
  let stream = null;
  let isLate = false;

  function take({ asks, ...detail }) {
    if (asks && stream) tabs.postMessage({ isOpen: stream.readyState === EventSource.OPEN });
    if (asks || (detail.type && !types.has(detail.type))) return;
    document.dispatchEvent(new CustomEvent("headgate:stream", { detail: { address, isHeld: Boolean(stream), ...detail } }));
  }

  function tell(message) {
    tabs.postMessage(message);
    take(message);
  }

  function hold() {
    isLate ||= performance.now() - began > LATE_MS; // events may have come while no tab held it
    stream = new EventSource(address);
    stream.onopen = () => {
      tell({ isOpen: true });
      if (isLate) tell({ type: [...types][0], data: "{}" });
      isLate = true;
    };
    stream.onerror = () => {
      tell({ isOpen: false });
      if (stream.readyState === EventSource.CLOSED) setTimeout(hold, 10_000); // refused: there were too many
    };
    for (const type of types) stream.addEventListener(type, ({ data }) => tell({ type, data }));
    return new Promise(() => {}); // until the tab closes
  }

  tabs.onmessage = ({ data }) => take(data);
  if (navigator.locks) navigator.locks.request(`headgate:${address}`, hold);
  else hold();
  tabs.postMessage({ asks: true });
}

new Set([...document.querySelectorAll("[data-live]")].map((one) => one.dataset.live)).forEach(listen);
