// <textarea data-json="ADDRESS">: the editor of that address takes its place when it gets the focus, so that a page weighs
// no more for somebody who does not edit. Without script, and until it is there, the field is the editor.
document.addEventListener("focusin", async ({ target }) => {
  if (!target.matches("textarea[data-json]")) return;
  const { editJson } = await import(target.dataset.json);
  if (target.isConnected && !target.hidden) editJson(target);
});
