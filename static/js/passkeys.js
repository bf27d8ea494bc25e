// Passkeys: ask the browser for one, or for its answer, and send that with the form.
(() => {
  "use strict";
  const show = (form, text) => {
    const place = form.querySelector("[data-problem]");
    place.textContent = text;
    place.hidden = false;
  };
  const ask = (form) => {
    const question = JSON.parse(form.dataset.question);
    return form.dataset.passkey === "create"
      ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(question) })
      : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(question) });
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-passkey]");
    if (!form) return;
    event.preventDefault();
    // A browser without the two, or a page without TLS.
    if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) return show(form, form.dataset.unknown);
    if (!form.reportValidity()) return;
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const made = await ask(form);
      form.querySelector("[name=passkey]").value = JSON.stringify(made.toJSON());
      form.submit();
    } catch {
      // Cancelled, timed out, or refused by the browser, which has shown why.
      show(form, form.dataset.failed);
      button.disabled = false;
    }
  });
})();
