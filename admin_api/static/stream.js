// Streams of server-sent events for the parts marked data-live="ADDRESS" data-live-types="names". One tab holds the stream
// of an address and tells the other tabs (Web Locks), because a browser has six connections for all of them. Each tab
// gets "headgate:stream" events: address; isOpen, or the type and data of an event; isHeld: this tab holds the stream.
// A tab has a place in the log: <body data-place>, then that of its last event. It opens a stream at its place. What the
// holder tells begins at the holder's place (from). A tab whose place is before it has missed something: it gets an event
// without data.
const REFUSED_MS = 10_000;
const followed = new Set();

function listen(address) {
  const here = [...document.querySelectorAll(`[data-live="${address}"]`)];
  const types = new Set(here.flatMap((one) => one.dataset.liveTypes.split(" ")));
  const isOfLog = !types.has("progress"); // of states: the first event of a stream names all
  const tabs = new BroadcastChannel(`headgate:${address}`);
  let place = isOfLog ? Number(document.body.dataset.place) : -1;
  let stream = null;

  function give(detail) {
    document.dispatchEvent(new CustomEvent("headgate:stream", { detail: { address, isHeld: Boolean(stream), ...detail } }));
  }

  function take({ from, to, ...detail }) {
    if (from > place) give({ type: [...types][0], data: "{}" });
    place = Math.max(place, to);
    if (!detail.type || types.has(detail.type)) give(detail);
  }

  function tell(detail, to = place) {
    const message = { ...detail, from: place, to };
    tabs.postMessage(message);
    take(message);
  }

  function hold() {
    stream = new EventSource(isOfLog ? `${address}?after=${place}` : address);
    stream.onopen = () => tell({ isOpen: true });
    stream.onerror = () => {
      tell({ isOpen: false });
      if (stream.readyState === EventSource.CLOSED) setTimeout(hold, REFUSED_MS); // there were too many
    };
    for (const type of types) {
      stream.addEventListener(type, ({ data, lastEventId }) => tell({ type, data }, Number(lastEventId)));
    }
    return new Promise(() => {}); // until the tab closes
  }

  tabs.onmessage = ({ data }) => {
    if (!data.asks) take(data);
    else if (stream) tell({ isOpen: stream.readyState === EventSource.OPEN });
  };
  if (navigator.locks) navigator.locks.request(`headgate:${address}`, hold);
  else hold();
  tabs.postMessage({ asks: true }); // the answer says what the holder told before this tab listened
}

function follow() {
  for (const { dataset: { live } } of document.querySelectorAll("[data-live]")) {
    if (followed.has(live)) continue;
    followed.add(live);
    listen(live);
  }
}

follow();
document.addEventListener("headgate:changed", follow);
