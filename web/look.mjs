// Opens pages in a browser as readers do: at two widths, light and dark. Fails on an error in the
// console, a request to the outside, a chart that is not drawn, or a page that is wider than its
// window. Leaves pictures.
// node look.mjs CHROMIUM FOLDER-OF-PAGES FOLDER-OF-PICTURES
import { chromium } from "playwright-core";
import { mkdirSync, readdirSync } from "node:fs";
import { resolve } from "node:path";

const [executablePath, pages, pictures] = process.argv.slice(2);
const WINDOWS = [
  { width: 1280, height: 800 },
  { width: 380, height: 760 },
];
const THEMES = ["light", "dark"];

// What is wrong with a page, said from within it.
function faults() {
  const found = [];
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push(`it is ${over} pixels wider than the window`);
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
  return { found, charts: charts.length, tables: document.querySelectorAll("table").length };
}

mkdirSync(pictures, { recursive: true });
const files = readdirSync(pages).filter((file) => file.endsWith(".html")).sort();
if (files.length === 0) throw new Error(`${pages} has no pages`);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let bad = 0;
let seen = 0;
for (const colorScheme of THEMES) {
  for (const viewport of WINDOWS) {
    const context = await browser.newContext({ viewport, colorScheme });
    for (const file of files) {
      const name = file.replace(/\.html$/, "");
      const page = await context.newPage();
      const found = [];
      page.on("console", (one) => found.push(`the console says: ${one.text()}`));
      page.on("pageerror", (error) => found.push(`the script fails: ${error.message}`));
      page.on("dialog", (dialog) => {
        found.push(`it opens a dialog: ${dialog.message()}`);
        dialog.dismiss();
      });
      page.on("request", (request) => {
        if (!/^(file|data):/.test(request.url())) found.push(`it asks for ${request.url()}`);
      });
      await page.goto(`file://${resolve(pages, file)}`);
      // Charts are drawn when the browser has told their widths: two frames later.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const looked = await page.evaluate(faults);
      found.push(...looked.found);
      const picture = `${pictures}/${name}-${viewport.width}-${colorScheme}.png`;
      await page.screenshot({ path: picture });
      await page.close();
      const what = `${name}, ${viewport.width} pixels, ${colorScheme}`;
      for (const one of new Set(found)) console.error(`${what}: ${one}`);
      bad += found.length > 0;
      seen += 1;
      if (colorScheme === "light" && viewport.width === 1280) {
        console.log(`${name}: ${looked.charts} charts, ${looked.tables} tables`);
      }
    }
    await context.close();
  }
}
await browser.close();
console.log(`${seen - bad} of ${seen} views are as they should be; pictures are in ${pictures}`);
process.exit(bad === 0 ? 0 : 1);
