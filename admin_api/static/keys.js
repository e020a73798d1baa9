// Keyboard: data-key="a" is pressed by A. In a list marked data-list, j and k move, o or Enter opens.
// "?" shows what this page knows. Nothing happens while somebody types, or in a dialog.
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

const opened = () => document.activeElement.closest("[data-row]")?.querySelector("a") ?? document.activeElement.closest("a[data-row]");

function help() {
  const dialog = document.getElementById("keyboard");
  const known = [...document.querySelectorAll("[data-key]")].filter((one) => one.offsetParent || one.type === "search");
  const list = document.createElement("dl");
  const named = rows().length ? [["j", "Next in the list"], ["k", "Previous in the list"], ["o", "Open, as Enter does"]] : [];
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
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "?") help();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "o" && opened()) opened().click();
  else {
    const wanted = event.key === "Enter" ? null : document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!wanted) return;
    if (wanted.matches("input, textarea, select")) wanted.focus();
    else wanted.click();
  }
  if (event.key !== "Enter") event.preventDefault();
});

document.querySelector("[data-list] [data-row][aria-current]")?.scrollIntoView({ block: "nearest" });
