// Sorts a table of the leaderboard by the column whose heading is pressed, best first; again, worst first.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const value = (row) => row.cells[column].dataset.value;
      const rows = [...table.tBodies[0].rows];
      rows.sort((first, second) => {
        const [a, b] = [value(first), value(second)];
        if (a === "" || b === "") return (a === "") - (b === "");
        const by = isNaN(a) || isNaN(b) ? b.localeCompare(a) : a - b;
        return order === "ascending" ? by : -by;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
