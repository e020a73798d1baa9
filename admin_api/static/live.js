// Parts of a page that follow what happens: <element id data-live="/v1/approvals/events">, or look every so many
// seconds: <element id data-every="3">.
// Each event fetches the page again; its parts replace those here. In a list (data-list) under the pointer or with the
// focus, new rows wait behind a button. The page is parsed by XMLHttpRequest, so that no text becomes markup here
// What somebody reads to decide about it (data-subject, data-version) is not changed under their eyes: another subject
// does not take its place, and a notice says that it has changed.
// (Trusted Types: there is no policy that could make any).
const parts = () => [...document.querySelectorAll("[data-live], [data-every]")];
const state = document.querySelector("[data-live-state]");
let due = 0;
let paused = false;

function fetched() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onload = () => (request.status === 200 ? resolve(request.responseXML) : reject(request.status));
    request.onerror = reject;
    request.send();
  });
}

const keysOf = (part) => new Set([...part.querySelectorAll("[data-row]")].map((one) => one.dataset.row));
const busy = (part) => part.matches(":hover") || part.contains(document.activeElement);

function replace(part, fresh) {
  part.replaceWith(document.adoptNode(fresh));
  document.dispatchEvent(new Event("headgate:changed"));
}

function offer(part, fresh, count) {
  const button = part.querySelector("[data-new]");
  if (!button) return replace(part, fresh);
  button.textContent = `Show ${count} new`;
  button.hidden = false;
  button.onclick = () => replace(part, fresh);
}

async function refresh() {
  due = 0;
  let page;
  try { page = await fetched(); } catch { return; }
  document.title = page.title;
  const icon = page.querySelector("link[rel=icon]");
  if (icon) document.querySelector("link[rel=icon]").href = icon.href;
  for (const name of ["waiting", "stop-state"]) {
    const fresh = page.getElementById(name);
    if (fresh) document.getElementById(name)?.replaceWith(document.adoptNode(fresh));
  }
  for (const part of parts()) {
    const fresh = page.getElementById(part.id);
    if (!fresh || part.isEqualNode(fresh)) continue;
    if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) continue;
    if (part.dataset.subject !== fresh.dataset.subject) continue;
    if (part.dataset.version !== fresh.dataset.version) {
      part.querySelector("[data-changed]").hidden = false;
      continue;
    }
    const known = keysOf(part);
    const added = [...keysOf(fresh)].filter((one) => !known.has(one)).length;
    if (added && part.matches("[data-list]") && busy(part)) offer(part, fresh, added);
    else replace(part, fresh);
  }
}

function happened() {
  if (!due && !paused) due = setTimeout(refresh, 250);
}

for (const part of document.querySelectorAll("[data-every]")) {
  setInterval(() => { if (!document.hidden) happened(); }, part.dataset.every * 1000);
}

for (const address of new Set(parts().map((one) => one.dataset.live).filter(Boolean))) {
  const source = new EventSource(address);
  source.onopen = () => { if (state) state.hidden = false; };
  source.onerror = () => { if (state) state.hidden = true; };
  for (const one of document.querySelector(`[data-live="${address}"]`).dataset.liveTypes.split(" ")) source.addEventListener(one, happened);
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-pause]");
  if (!button) return;
  paused = !paused;
  button.setAttribute("aria-pressed", String(!paused));
  if (!paused) happened();
});
