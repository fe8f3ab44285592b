"use strict";
// Makes the heads of tables sort them. Without this script the page has all the same content.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column] ? row.cells[column].textContent : "";
      const rows = [...body.rows].sort((left, right) =>
        text(left).localeCompare(text(right), "en", { numeric: true }));
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
