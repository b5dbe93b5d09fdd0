// How soon a trace is seen in a browser, and how smoothly it moves. Figures are printed, and nothing
// fails by them: they are of the machine as much as of the page.
// node pace.mjs CHROMIUM ADDRESS
import { chromium } from "playwright-core";

const [executablePath, address] = process.argv.slice(2);
/// How long each motion is looked at, in milliseconds.
const LOOK = 3000;

// Moves the view in each frame for a while, and counts frames.
function move({ ms, wheel }) {
  const canvas = document.querySelector("#timeline");
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const at = { clientX: left + 190 + (width - 190) / 2, clientY: top + height / 2 };
  const turn = (of) => canvas.dispatchEvent(new WheelEvent("wheel", { ...at, ...of, cancelable: true }));
  return new Promise((done) => {
    const begin = performance.now();
    let [frames, last, longest] = [0, begin, 0];
    const frame = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      frames += 1;
      if (now - begin >= ms) {
        done({ rate: (frames * 1000) / (now - begin), longest });
        return;
      }
      // To and fro, so that the view does not arrive anywhere.
      const back = Math.floor((now - begin) / (ms / 4)) % 2 === 1;
      const by = back ? -1 : 1;
      turn({ deltaX: by * (wheel.deltaX ?? 0), deltaY: by * (wheel.deltaY ?? 0) });
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.on("pageerror", (error) => {
  console.error(`the script fails: ${error.message}`);
  process.exit(1);
});
page.on("request", (request) => {
  if (!request.url().startsWith(new URL(address).origin) && !request.url().startsWith("data:")) {
    console.error(`it asks for ${request.url()}`);
    process.exit(1);
  }
});
await page.goto(address);
const first = await page.waitForFunction(() => performance.getEntriesByName("narrows-drawn")[0]?.startTime, null, { timeout: 60_000 });
console.log(`first picture ${(await first.jsonValue()).toFixed(0)} ms after the page was asked for`);
const tell = async (what, wheel) => {
  const { rate, longest } = await page.evaluate(move, { ms: LOOK, wheel });
  console.log(`${what}: ${rate.toFixed(0)} frames a second, the longest after ${longest.toFixed(0)} ms`);
};
const near = async (times) => {
  for (let at = 0; at < times; at++) await page.getByRole("button", { name: "Nearer" }).click();
};
await near(1);
await tell("panning half of the trace", { deltaX: 12 });
await near(5);
await tell("panning a 64th of it", { deltaX: 12 });
await near(6);
await tell("panning a 4096th of it", { deltaX: 12 });
await page.getByRole("button", { name: "Everything" }).click();
await tell("zooming from everything to a moment", { deltaY: -60 });
await browser.close();
