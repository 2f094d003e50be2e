// @ts-check
// The chat page. Each part starts on its own, so a part that fails does not stop the others.

const PARTS = [
  "chunks", "navigation", "message_actions", "detail_level", "outline", "marks", "find", "read_position", "live_chat", "keyboard",
  "dialogs", "share_dialog", "pane",
];

const started = PARTS.map((name) =>
  import(`./${name}.js`).then((part) => part.start()).catch((error) => console.warn(`${name} did not start:`, error)),
);
Promise.all(started).then(() => (document.documentElement.dataset.started = ""));
