// Fetches the page again after "headgate:happened" (seconds: at most so often), and the smallest page, for the frame,
// after "headgate:waiting". XMLHttpRequest parses it, so that no text becomes markup here (Trusted Types: there is no
// policy). One request is under way at a time; if something happens meanwhile, another follows. A failed one is repeated.
// <element data-every="3">: every so many seconds. data-page: the address of the page that has the parts.
const SMALLEST = "/more";
const TOGETHER_MS = 250;
const FRAME_EVERY_MS = 2_000;
const AGAIN_MS = 5_000;
const LONGEST_MS = 30_000;

function fetching(address, answer, delay) {
  let due = 0;
  let looked = 0;
  let wanted = Infinity;
  let isUnderWay = false;

  function want(pause) {
    wanted = Math.min(wanted, pause);
    if (isUnderWay) return;
    clearTimeout(due);
    due = setTimeout(send, Math.max(delay, looked + wanted - Date.now()));
  }

  function send() {
    wanted = Infinity;
    looked = Date.now();
    isUnderWay = true;
    const request = new XMLHttpRequest();
    request.open("GET", address());
    request.responseType = "document";
    request.timeout = LONGEST_MS;
    request.onloadend = () => {
      isUnderWay = false;
      const isPage = request.status === 200 && request.responseXML?.body?.dataset.place; // not the sign-in page
      if (isPage) document.dispatchEvent(new CustomEvent(answer, { detail: request.responseXML }));
      const isToRepeat = !request.status || request.status === 429 || request.status >= 500;
      if (isToRepeat || wanted < Infinity) want(isToRepeat ? AGAIN_MS : wanted);
    };
    request.send();
  }

  return want;
}

const page = () => document.querySelector("main [data-page]")?.dataset.page ?? location.href;
const wantPage = fetching(page, "headgate:fetched", 0);
const wantFrame = fetching(() => SMALLEST, "headgate:fetched-frame", TOGETHER_MS);

// The first event is shown at once; those that come soon after it together.
document.addEventListener("headgate:happened", ({ detail }) => wantPage(Math.max(TOGETHER_MS, (detail?.seconds || 0) * 1000)));
document.addEventListener("headgate:waiting", () => wantFrame(FRAME_EVERY_MS));
for (const part of document.querySelectorAll("[data-every]")) {
  const seconds = Number(part.dataset.every);
  setInterval(() => { if (!document.hidden) document.dispatchEvent(new Event("headgate:happened")); }, seconds * 1000);
}
