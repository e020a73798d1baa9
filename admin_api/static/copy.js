// Copies what data-copy holds, or the text of the element that data-copy-from names.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  const text = button.dataset.copy ?? document.querySelector(button.dataset.copyFrom)?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 1200);
  } catch { /* the browser refuses: the text can be selected */ }
});
