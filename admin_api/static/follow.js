// What the streams (stream.js) mean for the parts of a page. data-seconds: the page is fetched at most so often, and not
// while nobody sees it. Where only the frame follows an address, the tab that holds its stream fetches the frame
// (frame.js). data-agent: only events of this agent count; data-of: only those of this kind of work. <button data-pause
// hidden> stops the parts, counts what is new, and is remembered.
const PAUSED = "headgate.paused";
const state = document.querySelector("[data-live-state]");
const button = document.querySelector("[data-pause]");
const missed = new Set();
let paused = Boolean(button) && remembered() === "1";
let unseen = false;

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

function count(data) {
  const id = JSON.parse(data).id;
  if (id) missed.add(id);
  show();
}

// An event that names no agent, or no kind, is about all of them.
function isOfAnother({ agent, of: kind }, data) {
  const { agent_id: named, of: kinds } = JSON.parse(data);
  return Boolean((agent && named && named !== agent) || (kind && kinds && !kinds.includes(kind)));
}

document.addEventListener("headgate:stream", ({ detail }) => {
  const part = document.querySelector(`main [data-live="${detail.address}"]`);
  if (detail.isOpen !== undefined) {
    if (part && state) state.hidden = !detail.isOpen;
    return;
  }
  if (!part) {
    const isOfFrame = document.querySelector(`[data-live="${detail.address}"]`);
    if (detail.isHeld && isOfFrame) document.dispatchEvent(new Event("headgate:waiting"));
    return;
  }
  if (isOfAnother(part.dataset, detail.data)) return;
  const seconds = Number(part.dataset.seconds || 0);
  if (paused) count(detail.data);
  else if (seconds && document.hidden) unseen = true;
  else happened(seconds);
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden || !unseen) return;
  unseen = false;
  if (!paused) happened(0);
});
show();
button?.addEventListener("click", () => {
  paused = !paused;
  remember();
  missed.clear();
  show();
  if (!paused) happened(0);
});
