// @ts-check
// The chat page: every part of it starts by itself, so that one which fails takes no other with it.

const PARTS = ["chunks", "going", "furnish", "levels", "outline", "marks", "find", "seen", "following", "moving"];

for (const name of PARTS) {
  import(`./${name}.js`).then((part) => part.start()).catch((error) => console.warn(`${name} did not start:`, error));
}
