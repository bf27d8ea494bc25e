// The upload form: refuse what is too large before sending it, send it in pieces that resume, and show how far it is.
(() => {
  "use strict";
  const PIECE = 64 * 1024 * 1024; // bytes of one request: the server keeps what came of it when it breaks off
  const DELAYS = [0, 1000, 3000, 5000, 10000, 20000, 30000]; // milliseconds: a minute and more, after which limits on requests are over
  const running = new WeakMap(); // form → its upload
  const say = (form, text) => {
    const place = form.querySelector("#upload-problem");
    place.textContent = text;
    place.hidden = !text;
    return text;
  };
  const note = (form, key) => {
    form.querySelector("#upload-note").textContent = key ? form.dataset[key] : "";
  };
  const show = (form, sent, total) => {
    const share = total ? Math.floor((100 * sent) / total) : 0;
    form.querySelector(".upload-progress").hidden = false;
    form.querySelector("progress").value = share;
    form.querySelector("#upload-share").textContent = `${share} %`;
  };
  // Which endings are taken, and what is said of others, comes with the input: the page and the server have one list.
  const listed = (input, key) => input.dataset[key].split(" ").filter(Boolean);
  const ending = (input, key) => {
    const name = input.files[0].name.toLowerCase();
    return listed(input, key).filter((one) => name.endsWith(one)).sort((a, b) => b.length - a.length)[0];
  };
  const problem = (form) => {
    const input = form.querySelector("input[type=file]");
    const file = input.files[0];
    if (!file) return "";
    if (!ending(input, "endings")) return input.dataset.unknown;
    if (!ending(input, "packed") && file.size > Number(form.dataset.maxBytes)) return form.dataset.tooLarge;
    return "";
  };
  // By what the same file is known again after the page was loaded anew. A digest: the browser keeps it, and no name of a file.
  const fingerprint = async (file) => {
    if (!window.crypto.subtle) return null;
    const facts = new TextEncoder().encode([file.name, file.size, file.lastModified].join("\n"));
    const digest = new Uint8Array(await window.crypto.subtle.digest("SHA-256", facts));
    return `upload-${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  };
  const status = (error) => (error.originalResponse ? error.originalResponse.getStatus() : 0);
  const sentence = (error) => {
    try {
      return JSON.parse(error.originalResponse.getBody()).detail;
    } catch {
      return "";
    }
  };
  const pausing = (form, text) => {
    const button = form.querySelector("#upload-pause");
    button.hidden = !text;
    button.textContent = text;
  };
  const done = (form, busy) => {
    running.delete(form);
    pausing(form, "");
    note(form, "");
    form.querySelector("button[type=submit]").disabled = false;
    form.querySelector("input[type=file]").disabled = busy;
  };
  // What the list of unfinished uploads calls them: kept in this tab alone, until one signs out (typed.js).
  const BEGUN = "uploads-begun";
  const begun = () => {
    try {
      return JSON.parse(sessionStorage.getItem(BEGUN)) ?? {};
    } catch {
      return {};
    }
  };
  const remember = (url, form, file) => {
    const code = url.split("/").filter(Boolean).pop();
    const names = { file: file.name, name: form.querySelector("input[name=name]")?.value ?? "" };
    try {
      sessionStorage.setItem(BEGUN, JSON.stringify({ ...begun(), [code]: names }));
    } catch {
      // A browser that keeps nothing: the list names no file then.
    }
  };
  for (const place of document.querySelectorAll("[data-upload]")) {
    const names = begun()[place.dataset.upload];
    if (names) place.textContent = names.name && names.name !== names.file ? `${names.file} (${names.name}): ` : `${names.file}: `;
  }
  // Send the file in pieces; `send` sends the form then, with the code of the upload in place of the file.
  const resume = async (form, send) => {
    const input = form.querySelector("input[type=file]");
    const file = input.files[0];
    const press = form.querySelector("button[type=submit]");
    let waiting = false;
    const upload = new window.tus.Upload(file, {
      endpoint: form.dataset.resumes,
      chunkSize: PIECE,
      retryDelays: DELAYS,
      fingerprint,
      removeFingerprintOnSuccess: true,
      metadata: { filename: `table${ending(input, "endings")}` },
      onBeforeRequest: (request) => request.setHeader("X-CSRFToken", form.querySelector("[name=csrfmiddlewaretoken]").value),
      onUploadUrlAvailable: () => remember(upload.url, form, file),
      onShouldRetry: (error) => {
        const again = [0, 409, 423, 429].includes(status(error)) || (status(error) >= 500 && status(error) !== 507);
        waiting = again;
        if (again) note(form, "waiting");
        return again;
      },
      onProgress: (sent, total) => {
        show(form, sent, total);
        if (waiting) note(form, "");
        waiting = false;
      },
      onSuccess: () => {
        form.querySelector("[name=upload]").value = upload.url.split("/").filter(Boolean).pop();
        done(form, true);
        show(form, 1, 1);
        form.querySelector("#upload-stage").textContent = form.dataset.checking;
        send();
      },
      onError: (error) => {
        if (!upload.url) {
          // It was not begun: the form goes with the file in it, and the page says what is wrong.
          done(form, false);
          send();
        } else if (status(error) >= 400 && status(error) < 500 && status(error) !== 429) {
          done(form, false);
          say(form, sentence(error));
        } else {
          note(form, "stopped");
          pausing(form, form.dataset.continue);
          running.get(form).paused = true;
        }
      },
    });
    running.set(form, { upload, paused: false });
    press.disabled = true;
    show(form, 0, file.size);
    const before = await upload.findPreviousUploads();
    if (before.length) {
      upload.resumeFromPreviousUpload(before[0]);
      note(form, "resumed");
    }
    pausing(form, form.dataset.pause);
    upload.start();
  };
  document.addEventListener("click", (event) => {
    const form = event.target.matches("#upload-pause") && event.target.closest("form.upload");
    const state = form && running.get(form);
    if (!state) return;
    state.paused = !state.paused;
    if (state.paused) state.upload.abort();
    else state.upload.start();
    note(form, state.paused ? "paused" : "");
    pausing(form, state.paused ? form.dataset.continue : form.dataset.pause);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.upload");
    if (!form || event.target.type !== "file") return;
    say(form, problem(form));
    const name = form.querySelector("input[name=name]");
    const file = event.target.files[0];
    // A name is proposed, to be changed; one that was typed stays.
    if (name && file && (!name.value || name.value === name.dataset.proposed)) {
      name.value = file.name.slice(0, file.name.length - (ending(event.target, "endings") || "").length).slice(0, name.maxLength);
      name.dataset.proposed = name.value;
    }
  });
  document.addEventListener("htmx:confirm", (event) => {
    const form = event.target;
    if (!form.matches("form.upload")) return;
    const input = form.querySelector("input[type=file]");
    if (running.has(form) || say(form, problem(form))) event.preventDefault();
    else if (window.tus && input.files.length && input.files[0].size && !input.disabled) {
      event.preventDefault();
      resume(form, () => event.detail.issueRequest(true));
    }
  });
  document.addEventListener("htmx:xhr:progress", (event) => {
    if (event.target.matches("form.upload") && event.detail.lengthComputable) show(event.target, event.detail.loaded, event.detail.total);
  });
})();
