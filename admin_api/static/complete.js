// Completes the last word of <input data-complete="ADDRESS" list="ID">: the options of the list are what words there are,
// and the address has more, in lists by kind ({"agents": […]}), which are fetched when the field gets the focus.
const FILTERS = { agents: "agent", tools: "tool", operations: "operation", hosts: "host" };
const input = document.querySelector("[data-complete]");
const list = input?.list;
const known = new Set([...(list?.options ?? [])].map((one) => one.value));

function complete() {
  // A word's quotes keep its spaces: agent:"night shift".
  const at = input.value.length - input.value.match(/(?:[^\s"]|"[^"]*"?)*$/)[0].length;
  const before = input.value.slice(0, at);
  const word = input.value.slice(at);
  const name = word.split(/[:~]/)[0];
  const plain = word.replaceAll('"', "").toLowerCase();
  const begins = (one) => one.replaceAll('"', "").toLowerCase().startsWith(plain);
  const fits = [...known].filter((one) => begins(one) && one !== word && !(before && word === "" && before.includes(one)));
  list.replaceChildren(...fits.slice(0, 30).map((one) => {
    const option = document.createElement("option");
    option.value = before + one;
    option.label = one;
    return option;
  }));
  input.ariaDescription = name !== word || !word ? null : `${fits.length} completions`;
}

function isShown(value) {
  return /^[^"\p{C}\p{Zl}\p{Zp}]+$/u.test(value);
}

async function fetchMore() {
  const answer = await fetch(input.dataset.complete).catch(() => null);
  if (!answer?.ok) return; // those of the page complete it
  for (const [kind, values] of Object.entries(await answer.json())) {
    for (const one of values.filter(isShown)) known.add(`${FILTERS[kind]}:${one.includes(" ") ? `"${one}"` : one}`);
  }
  complete();
}

input?.addEventListener("input", complete);
input?.addEventListener("focus", fetchMore, { once: true });
if (input?.value) complete();
