// The pages of a team server: on a narrow screen their tabs are in one row that scrolls; show the tab of this page.

for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  tab.scrollIntoView({ block: "nearest", inline: "center" });
}

export {};
