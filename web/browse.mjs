// Opens pages in a browser as readers do: at two widths, light and dark. What is wrong with a view is
// an error in the console, a request to the outside, a dialog, or what is looked for. Leaves pictures.
import { chromium } from "playwright-core";
import { mkdirSync, readdirSync } from "node:fs";
import { resolve } from "node:path";

const WINDOWS = [
  { width: 1280, height: 800 },
  { width: 380, height: 760 },
];
const THEMES = ["light", "dark"];

// Looks at all pages of a folder. `look` is given a page and its name; it returns what it found wrong,
// and what there is to say of the page. Returns whether all is as it should be.
export async function browse([executablePath, pages, pictures], look) {
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
        const looked = await look(page, name);
        found.push(...looked.found);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) found.push(`it is ${over} pixels wider than the window`);
        await page.screenshot({ path: `${pictures}/${name}-${viewport.width}-${colorScheme}.png` });
        await page.close();
        const what = `${name}, ${viewport.width} pixels, ${colorScheme}`;
        for (const one of new Set(found)) console.error(`${what}: ${one}`);
        bad += found.length > 0;
        seen += 1;
        if (colorScheme === "light" && viewport.width === 1280) console.log(`${name}: ${looked.says}`);
      }
      await context.close();
    }
  }
  await browser.close();
  console.log(`${seen - bad} of ${seen} views are as they should be; pictures are in ${pictures}`);
  return bad === 0;
}
