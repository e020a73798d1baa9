// The frame of every page: the count of open requests in the title, the icon and the navigation; active stops and open
// break-glass uses. The tab that holds the stream of approvals (follow.js) fetches the smallest page for it. Whichever
// page a tab fetches, it gives the count to the other tabs.
const SMALLEST = "/more";
const AT_MOST_EVERY_MS = 2_000;
const STALE_MS = 30_000;
const tabs = new BroadcastChannel("headgate:frame");
const prefix = (count) => (count ? `(${count}) ` : "");
let due = 0;
let looked = Date.now();

function count({ waiting, icon }) {
  const badge = document.getElementById("waiting");
  if (!badge) return;
  const before = prefix(badge.textContent);
  const title = document.title.startsWith(before) ? document.title.slice(before.length) : document.title;
  document.title = prefix(waiting) + title;
  document.querySelector("link[rel=icon]").href = icon;
  badge.textContent = waiting;
  document.getElementById("waiting-words").textContent = waiting ? `, ${waiting} waiting` : "";
}

function take(page) {
  looked = Date.now();
  for (const name of ["stop-state", "notices"]) {
    const [old, fresh] = [document.getElementById(name), page.getElementById(name)];
    if (!old || !fresh || old.isEqualNode(fresh) || old.contains(document.activeElement)) continue;
    old.replaceWith(document.adoptNode(fresh));
    document.dispatchEvent(new Event("headgate:changed"));
  }
  const badge = page.getElementById("waiting");
  if (!badge) return;
  const found = { waiting: badge.textContent, icon: page.querySelector("link[rel=icon]").href };
  count(found);
  tabs.postMessage(found);
}

function fetchFrame() {
  due = 0;
  looked = Date.now();
  const request = new XMLHttpRequest();
  request.open("GET", SMALLEST);
  request.responseType = "document";
  request.onload = () => { if (request.status === 200) take(request.responseXML); };
  request.send();
}

tabs.onmessage = ({ data }) => count(data);
document.addEventListener("headgate:fetched", ({ detail }) => take(detail));
document.addEventListener("headgate:waiting", () => {
  due ||= setTimeout(fetchFrame, Math.max(250, looked + AT_MOST_EVERY_MS - Date.now()));
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && Date.now() - looked > STALE_MS) fetchFrame();
});
