// Draws the charts of a page. A chart's data are the table in its figure: what is drawn is what a
// screen reader reads and what the CSV file has.
import { interval, lines, scatter, spread, stack } from "./charts.js";

const DRAW = { interval, lines, scatter, spread, stack };

// A row of a table as an object: figures as numbers, an empty cell as null.
function rowsOf(table) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.name);
  return [...table.tBodies[0].rows].map((row) => {
    const values = [...row.cells].map((cell) => {
      if ("value" in cell.dataset) return Number(cell.dataset.value);
      return cell.textContent === "" ? null : cell.textContent;
    });
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  });
}

function show(figure) {
  const place = figure.querySelector(".plot");
  const spec = JSON.parse(figure.dataset.chart);
  const rows = rowsOf(figure.querySelector("table"));
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width === drawn || width === 0) return;
    drawn = width;
    place.replaceChildren(...DRAW[spec.kind](spec, rows, width));
  }).observe(place);
}

for (const figure of document.querySelectorAll("figure[data-chart]")) show(figure);
