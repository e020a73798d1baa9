// Streams of server-sent events for the parts marked data-live="ADDRESS" data-live-types="names". data-seconds: the
// page is fetched at most so often; then its stream also ends while nobody sees the page, because a browser has six
// connections for all of its tabs. <button data-pause hidden> stops the parts, counts what is new, and is remembered.
const PAUSED = "headgate.paused";
const state = document.querySelector("[data-live-state]");
const button = document.querySelector("[data-pause]");
const missed = new Set();
let paused = Boolean(button) && remembered() === "1";

function remembered() {
  try { return localStorage.getItem(PAUSED); } catch { return null; } // storage may be forbidden
}

function remember() {
  try { localStorage.setItem(PAUSED, paused ? "1" : "0"); } catch { /* for this page only */ }
}

function happened(seconds) {
  document.dispatchEvent(new CustomEvent("headgate:happened", { detail: { seconds } }));
}

function show() {
  if (!button) return;
  const words = paused ? `Resume${missed.size ? `, ${missed.size} new` : ""}` : "Pause";
  button.querySelector("[data-words]").textContent = words;
  button.hidden = false;
  if (state) state.querySelector("span").textContent = paused ? "Paused" : "Live";
}

function told(event, seconds) {
  if (!paused) return happened(seconds);
  const id = JSON.parse(event.data).id;
  if (id) missed.add(id);
  show();
}

function follow(address) {
  const { liveTypes, seconds } = document.querySelector(`[data-live="${address}"]`).dataset;
  let source = null;
  function open() {
    source = new EventSource(address);
    source.onopen = () => { if (state) state.hidden = false; };
    source.onerror = () => {
      if (state) state.hidden = true;
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 10_000); // refused: there were too many
    };
    for (const one of liveTypes.split(" ")) source.addEventListener(one, (event) => told(event, Number(seconds || 0)));
  }
  open();
  if (!seconds) return;
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (document.hidden) return;
    open();
    if (!paused) happened(0);
  });
}

new Set([...document.querySelectorAll("[data-live]")].map((one) => one.dataset.live)).forEach(follow);
show();
button?.addEventListener("click", () => {
  paused = !paused;
  remember();
  missed.clear();
  show();
  if (!paused) happened(0);
});
