// Passkeys: <form data-passkey="create|get" data-options="ADDRESS"> asks the server for options and
// the authenticator for an answer, puts it into the field "response", and is sent.
const words = {
  NotAllowedError: "The browser created or used no passkey: it was cancelled, or took too long. Try again.",
  InvalidStateError: "This device already has a passkey for this account.",
  SecurityError: "This address cannot use passkeys.",
};

function say(form, text) {
  const place = form.querySelector("[data-passkey-error]");
  place.textContent = text;
  place.hidden = false;
}

async function options(form) {
  const invitation = form.elements.invitation?.value;
  const body = invitation ? { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ invitation }) } : {};
  const answer = await fetch(form.dataset.options, { method: "POST", ...body });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error?.message ?? content.message ?? `The server answered ${answer.status}.`);
  return content.public_key;
}

async function response(form) {
  const asked = await options(form);
  const made = form.dataset.passkey === "create"
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(asked) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(asked) });
  return JSON.stringify(made.toJSON());
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-passkey]");
  if (!form || form.elements.response.value) return;
  event.preventDefault();
  if (!globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON) {
    return say(form, "This browser cannot use passkeys. Update it, or use another browser.");
  }
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    form.elements.response.value = await response(form);
    form.submit();
  } catch (error) {
    say(form, words[error.name] ?? error.message);
    button.disabled = false;
  }
});
