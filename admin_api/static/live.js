// Parts of a page that follow what happens (<element id data-live="/v1/approvals/events">, by follow.js) or look every
// so many seconds (<element id data-every="3">). The page is fetched again, and its parts replace those here. In a list
// (data-list) under the pointer or with the focus, new rows wait behind a button. The page is parsed by XMLHttpRequest,
// so that no text becomes markup here (Trusted Types: there is no policy that could make any).
// data-page: the address of the page that has these parts, where it is not this page's own.
// What somebody reads to decide about it (data-subject, data-version) is not changed under their eyes: another subject
// does not take its place, and a notice says that it has changed.
const parts = () => [...document.querySelectorAll("main [data-live], main [data-every]")];
const keysOf = (part) => new Set([...part.querySelectorAll("[data-row]")].map((one) => one.dataset.row));
const busy = (part) => part.matches(":hover") || part.contains(document.activeElement) || part.scrollTop > 0;
const entered = (part) => [...part.querySelectorAll("input, textarea")].some((one) => one.type !== "hidden"
  && (one.checked !== one.defaultChecked || one.value !== one.defaultValue));
let due = 0;
let looked = 0;

function fetched() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", document.querySelector("main [data-page]")?.dataset.page ?? location.href);
    request.responseType = "document";
    request.onload = () => (request.status === 200 ? resolve(request.responseXML) : reject(request.status));
    request.onerror = reject;
    request.send();
  });
}

function replace(part, fresh) {
  const row = part.contains(document.activeElement) && document.activeElement.closest("[data-row]")?.dataset.row;
  const top = part.scrollTop;
  part.replaceWith(document.adoptNode(fresh));
  fresh.scrollTop = top;
  const same = row && fresh.querySelector(`[data-row="${CSS.escape(row)}"]`);
  if (same) (same.matches("a, button") ? same : same.querySelector("a, button"))?.focus({ preventScroll: true });
  document.dispatchEvent(new Event("headgate:changed"));
}

function offer(part, fresh, count) {
  const button = part.querySelector("[data-new]");
  if (!button) return replace(part, fresh);
  button.textContent = `Show ${count} new`;
  button.hidden = false;
  button.onclick = () => { part.scrollTop = 0; replace(part, fresh); };
}

async function refresh() {
  due = 0;
  looked = Date.now();
  let page;
  try { page = await fetched(); } catch { return; }
  document.dispatchEvent(new CustomEvent("headgate:fetched", { detail: page }));
  if (!document.querySelector("main [data-page]")) document.title = page.title;
  for (const part of parts()) {
    const fresh = page.getElementById(part.id);
    if (!fresh || part.isEqualNode(fresh)) continue;
    if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select, .editor-host")) continue;
    if (part.dataset.subject !== fresh.dataset.subject) continue;
    // What was entered is kept for as long as it can be sent.
    if (part.dataset.subject && entered(part) && fresh.querySelector("form.decide")) continue;
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

document.addEventListener("headgate:happened", (event) => {
  // The first event is shown at once; those that come soon after it together.
  const pause = Math.max(250, (event.detail?.seconds || 0) * 1000);
  if (!due) due = setTimeout(refresh, Math.max(0, looked + pause - Date.now()));
});
for (const part of document.querySelectorAll("[data-every]")) {
  const seconds = Number(part.dataset.every);
  setInterval(() => { if (!document.hidden) document.dispatchEvent(new Event("headgate:happened")); }, seconds * 1000);
}
