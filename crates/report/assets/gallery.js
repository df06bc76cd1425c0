// Filters and sorts the rows of a gallery, and copies commands. The page is complete without it.
"use strict";
(() => {
  const body = document.querySelector("tbody");
  const rows = [...body.rows];
  const [find, engine, workload, shown] = ["find", "engine", "workload", "shown"].map((id) => document.getElementById(id));
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && (!engine.value || row.dataset.engine === engine.value)
        && (!workload.value || row.dataset.workload === workload.value);
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length} rows`;
  };
  const form = document.querySelector(".filters");
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();

  const key = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.sort === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.sort);
  };
  document.querySelectorAll("thead th").forEach((heading, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      document.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => {
        const [one, other] = [key(a, at), key(b, at)];
        // Rows without the figure come last in both orders.
        if (one === "" || other === "") return (one === "") - (other === "");
        return (one < other ? -1 : one > other ? 1 : 0) * (down ? -1 : 1);
      };
      body.append(...rows.sort(order));
    });
  });

  for (const button of body.querySelectorAll("button")) {
    const command = button.parentElement.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "copied";
      } catch {
        // Without a secure context there is no clipboard: select it instead.
        getSelection().selectAllChildren(command);
      }
    });
  }
})();
