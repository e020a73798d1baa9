// Keyboard: data-key="a" is pressed by A. In a list marked data-list, j and k move, o or Enter opens, x selects.
// While rows are selected, data-selected-key="a" gets the focus instead: a key about one request would lose the selection.
// "?" shows what this page knows. Nothing happens while somebody types, or in a dialog.
const TAKEN_BACK_MS = 500;
let decision;
const typing = (target) => target.closest("input, textarea, select, [contenteditable], .editor-host");

function rows() {
  return [...document.querySelectorAll("[data-list] [data-row]")].filter((one) => one.offsetParent);
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const here = all.findIndex((one) => one.contains(document.activeElement) || one === document.activeElement);
  const current = here < 0 ? all.findIndex((one) => one.matches("[aria-current]")) : here;
  const next = all[Math.min(all.length - 1, Math.max(0, current + step))];
  (next.matches("a, button") ? next : next.querySelector("a, button"))?.focus();
}

const focusedRow = () => document.activeElement.closest("[data-row]");
const opened = () => document.activeElement.closest("[data-row]")?.querySelector("a") ?? document.activeElement.closest("a[data-row]");

const marker = () => {
  const row = focusedRow() ?? document.querySelector("[data-list] [data-row][aria-current]");
  return row?.parentElement.querySelector('input[type="checkbox"]');
};

const selected = () => document.querySelector('[data-list] input[type="checkbox"]:checked');

function press(wanted) {
  const row = focusedRow();
  // A key about the request that is shown never acts while another row has the focus: it shows that one.
  if (wanted.hasAttribute("data-of-shown") && row && !row.matches("[aria-current]")) return opened()?.click();
  if (wanted.matches("input, textarea, select")) return wanted.focus();
  // Somebody who types a reason beside its field begins with a letter too: the next key takes a decision back.
  if (wanted.hasAttribute("data-decides")) return decision = setTimeout(() => wanted.click(), TAKEN_BACK_MS);
  wanted.click();
  if (wanted.matches("summary")) wanted.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
}

function help() {
  const dialog = document.getElementById("keyboard");
  const known = [...document.querySelectorAll("[data-key]")].filter((one) => one.offsetParent || one.type === "search");
  const list = document.createElement("dl");
  const named = rows().length ? [["j", "Next in the list"], ["k", "Previous in the list"], ["o", "Open, as Enter does"]] : [];
  if (marker()) named.push(["x", "Select, or do not select. A and D then decide about what is selected"]);
  for (const one of known) named.push([one.dataset.key, one.dataset.name || one.getAttribute("aria-label") || one.textContent.trim()]);
  for (const [key, words] of [...named, ["?", "Show these keys"], ["Esc", "Close"]]) {
    const term = document.createElement("dt");
    const shown = document.createElement("kbd");
    shown.textContent = key;
    term.append(shown);
    const meaning = document.createElement("dd");
    meaning.textContent = words.replace(/\s+/g, " ").replace(new RegExp(` ${key}$`, "i"), "");
    list.append(term, meaning);
  }
  dialog.replaceChildren(list);
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  clearTimeout(decision);
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "?") help();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "o" && opened()) opened().click();
  else if (event.key === "x" && marker()) marker().click();
  else {
    const key = event.key === "Enter" ? null : CSS.escape(event.key);
    const ofSelected = key && selected() && document.querySelector(`[data-selected-key="${key}"]`);
    const wanted = key && document.querySelector(`[data-key="${key}"]`);
    if (ofSelected) ofSelected.focus();
    else if (wanted) press(wanted);
    else return;
  }
  if (event.key !== "Enter") event.preventDefault();
});

document.querySelector("[data-list] [data-row][aria-current]")?.scrollIntoView({ block: "nearest" });
