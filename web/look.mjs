// Opens reports in a browser. Fails on what browse.mjs finds, a chart that is not drawn, or a page
// whose headline or findings are not on the first screen.
// node look.mjs CHROMIUM FOLDER-OF-PAGES FOLDER-OF-PICTURES
import { browse } from "./browse.mjs";

// What is wrong with a page, said from within it.
function faults() {
  const found = [];
  for (const [name, selector] of [
    ["headline", "h1"],
    ["findings", ".why, .findings dd"],
  ]) {
    const element = document.querySelector(selector);
    if (!element?.textContent.trim()) found.push(`it has no ${name}`);
    else if (element.getBoundingClientRect().bottom > innerHeight) {
      found.push(`its ${name} are not on the first screen`);
    }
  }
  const charts = document.querySelectorAll("figure[data-chart]");
  for (const figure of charts) {
    const title = figure.querySelector("h3").textContent;
    const drawn = figure.querySelector(".plot > svg");
    const marks = drawn?.querySelectorAll("g[aria-label]:not([aria-label*='axis']) :is(path, rect, circle, line)");
    if (!marks?.length) found.push(`chart "${title}" is not drawn`);
    const size = drawn?.getBoundingClientRect();
    if (size && size.width > figure.clientWidth) found.push(`chart "${title}" is too wide`);
  }
  for (const figure of document.querySelectorAll("figure")) {
    const title = figure.querySelector("h3").textContent;
    const rows = figure.querySelectorAll("tbody tr").length;
    const link = figure.querySelector("a[download$='.csv']").href;
    const csv = decodeURIComponent(link.slice(link.indexOf(",") + 1));
    // A cell may have lines of its own, so there are at least as many.
    if (csv.split("\n").length - 2 < rows) found.push(`the CSV of "${title}" lacks rows`);
    if (rows === 0) found.push(`"${title}" is an empty table`);
  }
  const says = `${charts.length} charts, ${document.querySelectorAll("table").length} tables`;
  return { found, says };
}

const good = await browse(process.argv.slice(2), (page) => page.evaluate(faults));
process.exit(good ? 0 : 1);
