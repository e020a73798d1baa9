// Completes the last word of <input data-complete list="ID">: the options of the list are what words there are.
const input = document.querySelector("[data-complete]");
const list = input?.list;
const known = [...(list?.options ?? [])].map((one) => one.value);

function complete() {
  const at = input.value.lastIndexOf(" ") + 1;
  const before = input.value.slice(0, at);
  const word = input.value.slice(at);
  const name = word.split(/[:~]/)[0];
  const fits = known.filter((one) => one.startsWith(word) && one !== word && !(before && word === "" && before.includes(one)));
  list.replaceChildren(...fits.slice(0, 30).map((one) => {
    const option = document.createElement("option");
    option.value = before + one;
    option.label = one;
    return option;
  }));
  input.ariaDescription = name !== word || !word ? null : `${fits.length} completions`;
}

input?.addEventListener("input", complete);
if (input?.value) complete();
