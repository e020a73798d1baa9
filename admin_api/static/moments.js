// Times: local where the reader is, UTC on hover; "relative" ones and countdowns go on by themselves.
// <time datetime data-show="relative|clock|date">, <span data-until="ISO" data-past="text">.
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const steps = [[60, "second"], [60, "minute"], [24, "hour"], [7, "day"], [Infinity, "week"]];

function ago(seconds) {
  let value = seconds;
  for (const [size, unit] of steps) {
    if (Math.abs(value) < size) return relative.format(Math.trunc(value), unit);
    value /= size;
  }
  return "";
}

function left(seconds) {
  if (seconds < 120) return `${Math.ceil(seconds)} s left`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min left`;
  return `${Math.round(seconds / 3600)} h left`;
}

function show() {
  const now = Date.now();
  for (const one of document.querySelectorAll("time[data-show]")) {
    const at = new Date(one.dateTime);
    const text = one.dataset.show === "clock" ? clock.format(at)
      : one.dataset.show === "date" ? date.format(at) : ago((at - now) / 1000);
    if (one.textContent !== text) one.textContent = text;
  }
  for (const one of document.querySelectorAll("[data-until]")) {
    const seconds = (new Date(one.dataset.until) - now) / 1000;
    const text = seconds > 0 ? `${one.dataset.before ?? ""}${left(seconds)}` : one.dataset.past ?? "";
    if (one.textContent !== text) one.textContent = text;
  }
  for (const one of document.querySelectorAll("progress[data-ends]")) {
    one.value = Math.max(0, (new Date(one.dataset.ends) - now) / 1000);
  }
}

show();
setInterval(show, 1000);
document.addEventListener("headgate:changed", show);
