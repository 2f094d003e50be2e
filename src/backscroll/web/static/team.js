// @ts-check
// The pages of a team server: the tab of this page is shown, and what cannot be undone is confirmed first.

// On a narrow screen, tabs are in one row that scrolls.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  tab.scrollIntoView({ block: "nearest", inline: "center" });
}

/**
 * Ask before a form is sent. Escape and “Cancel” send nothing.
 * @param {HTMLFormElement} form its question is in `data-ask`
 */
function confirmed(form) {
  const sender = form.querySelector("button");
  const dialog = document.createElement("dialog");
  dialog.className = "question";
  const question = document.createElement("p");
  question.id = "question";
  question.textContent = form.dataset.ask ?? "";
  dialog.setAttribute("aria-labelledby", question.id);
  const cancel = document.createElement("button");
  cancel.textContent = "Cancel";
  cancel.autofocus = true;
  cancel.addEventListener("click", () => dialog.close());
  const yes = document.createElement("button");
  yes.className = "danger";
  yes.textContent = sender?.textContent ?? "Continue";
  yes.addEventListener("click", () => form.submit());
  const buttons = document.createElement("div");
  buttons.className = "buttons";
  buttons.append(yes, cancel);
  dialog.append(question, buttons);
  dialog.addEventListener("close", () => {
    dialog.remove();
    sender?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.dataset.ask) return;
  event.preventDefault();
  confirmed(form);
});

export {};
