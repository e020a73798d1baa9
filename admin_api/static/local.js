// A date and time that somebody enters is local time, as all times of a page are: <input type="datetime-local"> with its
// hint, <small data-utc>. The server writes and reads UTC, which is what the form sends, so that an address means the same
// to everybody. Without script the hint says UTC.
const FIELDS = 'input[type="datetime-local"]';
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll("_", " ");
const known = new WeakSet();

function toLocal(text) {
  const at = new Date(`${text}Z`);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, text.length);
}

const toUtc = (text) => new Date(text).toISOString().slice(0, text.length);

function show() {
  for (const field of document.querySelectorAll(FIELDS)) {
    if (known.has(field)) continue;
    known.add(field);
    if (field.value) field.value = field.defaultValue = toLocal(field.value);
    const hint = field.closest("label")?.querySelector("[data-utc]");
    if (hint) hint.textContent = `Your local time (${zone}).`;
  }
}

document.addEventListener("formdata", ({ target, formData }) => {
  for (const field of target.elements) {
    if (field.matches(FIELDS) && field.value) formData.set(field.name, toUtc(field.value));
  }
});
show();
document.addEventListener("headgate:changed", show);
