"use strict";
// Tables are sorted by a click on a heading, and long ones get a filter. Nothing needs it.
const SECONDS = { s: 1, min: 60, h: 3600 };

// The number that a cell begins with (a duration in seconds); NaN if it is text.
function number(text) {
  const [, start, unit] = text.replaceAll("−", "-").replaceAll(",", "")
    .match(/^[<>≤≈+]?\s*(-?[\d.]+(?:e[+-]?\d+)?)(?:\s(s|min|h)\b)?/) ?? [];
  return Number(start ?? NaN) * (SECONDS[unit] ?? 1);
}

function sort(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const up = heading.ariaSort !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
  heading.ariaSort = up ? "ascending" : "descending";
  const rows = [...table.tBodies[0].rows].map((row) => {
    const text = row.cells[column].textContent.trim();
    return { row, text, empty: ["", "–"].includes(text), value: number(text) };
  });
  const numbers = rows.every((one) => one.empty || !Number.isNaN(one.value));
  const order = (a, b) => numbers ? a.value - b.value
    : a.text.localeCompare(b.text, undefined, { numeric: true });
  rows.sort((a, b) => a.empty - b.empty || (a.empty ? 0 : (up ? 1 : -1) * order(a, b)));
  table.tBodies[0].append(...rows.map((one) => one.row));
}

function filter(table) {
  const rows = [...table.tBodies[0].rows];
  const box = document.createElement("input");
  const count = document.createElement("output");
  box.type = "search";
  box.placeholder = "Filter rows";
  box.ariaLabel = `Filter rows: ${table.caption.textContent}`;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.value = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
  });
  const line = document.createElement("p");
  line.className = "filter";
  line.append(box, " ", count);
  table.parentElement.before(line);
}

for (const table of document.querySelectorAll("main table")) {
  if (table.tBodies[0].rows.length > 1) {
    for (const [column, heading] of [...table.tHead.rows[0].cells].entries()) {
      if (!heading.textContent) continue;
      const button = document.createElement("button");
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, column));
      heading.append(button);
    }
  }
  if (table.tBodies[0].rows.length > 15) filter(table);
}
