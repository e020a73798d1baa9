// The frame of every page: the count of open requests in the title, the icon and the navigation; active stops and open
// break-glass uses. The tab that holds the stream of approvals (follow.js) fetches the smallest page for it (fetch.js).
// Whichever page a tab fetches, it gives the count to the other tabs. An older page (data-place) replaces nothing.
const STALE_MS = 30_000;
const tabs = new BroadcastChannel("headgate:frame");
const prefix = (count) => (count ? `(${count}) ` : "");
const countOf = (page) => page.getElementById("waiting")?.textContent ?? "";
const titleOf = (page) => page.title.slice(page.title.startsWith(prefix(countOf(page))) ? prefix(countOf(page)).length : 0);
let title = titleOf(document);
let counted = Number(document.body.dataset.place);
let taken = counted;
let looked = Date.now();

function count({ waiting, icon, place }) {
  const badge = document.getElementById("waiting");
  if (!badge || place < counted) return;
  counted = place;
  document.title = prefix(waiting) + title;
  document.querySelector("link[rel=icon]").href = icon;
  badge.textContent = waiting;
  document.getElementById("waiting-words").textContent = waiting ? `, ${waiting} waiting` : "";
}

function take(page) {
  looked = Date.now();
  const place = Number(page.body.dataset.place);
  if (place < taken) return;
  taken = place;
  for (const name of ["stop-state", "notices"]) {
    const [old, fresh] = [document.getElementById(name), page.getElementById(name)];
    if (!old || !fresh || old.isEqualNode(fresh) || old.contains(document.activeElement)) continue;
    old.replaceWith(document.adoptNode(fresh));
    document.dispatchEvent(new Event("headgate:changed"));
  }
  if (!page.getElementById("waiting")) return;
  const found = { waiting: countOf(page), icon: page.querySelector("link[rel=icon]").href, place };
  count(found);
  tabs.postMessage(found);
}

tabs.onmessage = ({ data }) => count(data);
document.addEventListener("headgate:fetched-frame", ({ detail }) => take(detail));
document.addEventListener("headgate:fetched", ({ detail }) => {
  if (!document.querySelector("main [data-page]")) title = titleOf(detail);
  document.title = prefix(countOf(document)) + title;
  take(detail);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && Date.now() - looked > STALE_MS) document.dispatchEvent(new Event("headgate:waiting"));
});
