// Opens exported traces in a browser. Fails on what browse.mjs finds, a picture that is not drawn, a
// message that is not found by its number, keys that do nothing, or a name that became markup.
// node look-view.mjs CHROMIUM FOLDER-OF-PAGES FOLDER-OF-PICTURES
import { browse } from "./browse.mjs";

// How many rows, stretches and messages the picture says it has.
function drawn() {
  const says = document.querySelector("#timeline")?.getAttribute("aria-label") ?? "";
  const counts = /(\d+) rows, (\d+) stretches and (\d+) messages/.exec(says) ?? [];
  const [rows, stretches, messages] = counts.slice(1).map(Number);
  return { rows, stretches, messages };
}

// How many colours the picture has.
function coloursOf() {
  const canvas = document.querySelector("#timeline");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const colours = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(colours).size;
}

const chosen = (page) => page.locator(".panel section").first().innerText();
const measured = (page) => page.locator(".panel section").nth(1).innerText();

// Waits until something holds; says whether it came to that.
async function until(holds) {
  for (let times = 0; times < 100; times++) {
    if (await holds()) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  return false;
}

async function look(page, name) {
  const found = [];
  const expect = async (what, holds) => {
    if (!(await until(holds))) found.push(what);
  };
  await expect("it says nothing of its picture", async () => (await page.evaluate(drawn)).rows > 0);
  const { rows, stretches, messages } = await page.evaluate(drawn);
  const colours = await page.evaluate(coloursOf);
  if (!(rows >= 3 && stretches >= 10 && messages >= 1)) {
    found.push(`it draws ${rows} rows, ${stretches} stretches and ${messages} messages`);
  }
  if (colours < 8) found.push(`its picture has ${colours} colours`);
  await expect("it measures no latency", async () => (await measured(page)).includes("latency"));
  await page.getByRole("searchbox").fill("#5");
  await page.keyboard.press("Enter");
  await expect("message number 5 is not found", async () => (await chosen(page)).includes("number 5,"));
  await page.locator("#timeline").focus();
  await page.keyboard.press("m");
  await expect("m sets no ruler", async () => (await measured(page)).includes("within the ruler"));
  await page.keyboard.press("f");
  await expect("f brings nothing nearer", async () => (await page.evaluate(drawn)).messages <= messages);
  const before = await page.locator("#timeline").getAttribute("aria-label");
  await page.keyboard.press("d", { delay: 200 });
  await expect("d does not move", async () => (await page.locator("#timeline").getAttribute("aria-label")) !== before);
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect("arrow keys choose no row", async () => (await chosen(page)).includes("stretches"));
  await page.getByRole("searchbox").fill("endpoint");
  await page.keyboard.press("Enter");
  await expect("no name is found", async () => (await chosen(page)).includes("endpoint (call)"));
  if ((await page.locator("img").count()) > 0) found.push("a name became an element");
  if (name.includes("markup")) {
    await expect("a name with markup is not shown as it is", async () => (await chosen(page)).includes("<img src=x"));
  }
  // The picture that is left: a message, near.
  await page.getByRole("searchbox").fill("#5");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "What is chosen fills the picture" }).click();
  await page.getByRole("button", { name: "Further" }).click();
  await expect("nothing is chosen", async () => (await chosen(page)).includes("number 5,"));
  await expect("it does not measure the chosen message's way", async () => /messages from .*, in sight/s.test(await measured(page)));
  await page.evaluate(() => scrollTo(0, 0));
  return { found, says: `${rows} rows, ${stretches} stretches, ${messages} messages` };
}

const good = await browse(process.argv.slice(2), look);
process.exit(good ? 0 : 1);
