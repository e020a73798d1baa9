// Parts of a page that follow what happens (<element id data-live="/v1/approvals/events">, by follow.js) or look every
// so many seconds (<element id data-every="3">). The page is fetched again (fetch.js), and its parts replace those here.
// In a list (data-list) under the pointer or with the focus, new rows wait behind a button. Rows that were selected stay
// selected. A field with the focus keeps its part until the focus has left.
// What somebody reads to decide about it (data-subject, data-version) is not changed under their eyes: another subject
// does not take its place, and a notice says that it has changed.
const parts = () => [...document.querySelectorAll("main [data-live], main [data-every]")];
const keysOf = (part) => new Set([...part.querySelectorAll("[data-row]")].map((one) => one.dataset.row));
const busy = (part) => part.matches(":hover") || part.contains(document.activeElement) || part.scrollTop > 0;
const entered = (part) => [...part.querySelectorAll("input, textarea")].some((one) => one.type !== "hidden"
  && (one.checked !== one.defaultChecked || one.value !== one.defaultValue));
const FIELDS = "input, textarea, select, .editor-host";
const LEFT_MS = 1_000; // what is clicked next is not replaced under the pointer
let isBehind = false;

function keepTicks(part, fresh) {
  for (const one of part.querySelectorAll("input[type=checkbox]")) {
    const same = fresh.querySelector(`input[name="${CSS.escape(one.name)}"][value="${CSS.escape(one.value)}"]`);
    if (same && one.checked !== one.defaultChecked) same.checked = one.checked;
  }
}

function replace(part, fresh) {
  keepTicks(part, fresh);
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

document.addEventListener("headgate:fetched", ({ detail: page }) => {
  isBehind = false;
  for (const part of parts()) {
    const fresh = page.getElementById(part.id);
    if (!fresh || part.isEqualNode(fresh)) continue;
    if (part.contains(document.activeElement) && document.activeElement.matches(FIELDS)) {
      isBehind = true;
      continue;
    }
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
});

document.addEventListener("focusout", () => setTimeout(() => {
  if (isBehind && !parts().some(entered)) document.dispatchEvent(new Event("headgate:happened"));
}, LEFT_MS));
