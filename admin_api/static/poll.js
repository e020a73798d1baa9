// A part that waits for something: <element id data-poll="PATH">. The page at PATH is fetched every two seconds, and its
// part of the same id replaces this one, until that no longer waits. Without script, the page says how to look.
const SECONDS = 2;

function look(part) {
  const request = new XMLHttpRequest();
  request.open("GET", part.dataset.poll);
  request.responseType = "document";
  request.onloadend = () => {
    const fresh = request.status === 200 && request.responseXML?.getElementById(part.id);
    if (!fresh) return wait(part);
    const next = document.adoptNode(fresh);
    part.replaceWith(next);
    document.dispatchEvent(new Event("headgate:changed"));
    if (next.dataset.poll) wait(next);
  };
  request.send();
}

function wait(part) {
  setTimeout(look, SECONDS * 1000, part);
}

document.querySelectorAll("[data-poll]").forEach(wait);
