// Bundles the scripts and the styles of pages, each page's into a folder of its own: those of
// --report into FOLDER/page, that of `narrows view` into FOLDER/view.
// node build.mjs FOLDER
import { createHash } from "node:crypto";
import * as esbuild from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const folder = process.argv[2] ?? "built";

// The names of the packages that a bundle has code of.
function packages(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).filter(([, input]) => input.bytesInOutput > 0),
  );
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;
  const names = inputs.map(([path]) => path.match(name)?.[1]).filter(Boolean);
  return [...new Set(names)].sort();
}

// Each licence once, with the packages that are under it: a page is a copy of all of them.
function licences(names) {
  const texts = new Map();
  for (const name of names) {
    const place = `node_modules/${name}`;
    const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence file`);
    const lines = readFileSync(`${place}/${file}`, "utf8").replaceAll("*/", "* /").split(/\r?\n/);
    const isCopyright = (line) => /^\s*copyright/i.test(line);
    const body = lines.filter((line) => !isCopyright(line)).join(" ").replace(/\s+/g, " ").trim();
    const entry = texts.get(body) ?? [];
    const holders = lines.filter(isCopyright).map((line) => line.trim());
    entry.push(`${name}: ${holders.join("; ")}`);
    texts.set(body, entry);
  }
  return [...texts].map(([body, entries]) => `${entries.join("\n")}\n${body}`).join("\n\n");
}

async function bundle(entry, banner) {
  const built = await esbuild.build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2020", "chrome90", "firefox90", "safari15"],
    charset: "ascii",
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "warning",
    banner,
  });
  return { text: built.outputFiles[0].text, metafile: built.metafile };
}

// Writes the script, the style and the policy of a page.
async function build(page, { script: from, style: sheet, styles }) {
  const { metafile } = await bundle(from);
  const names = packages(metafile);
  const notice = names.length ? { js: `/*!\n${licences(names)}\n*/` } : undefined;
  const script = await bundle(from, notice);
  if (/<\/script|<!--/i.test(script.text)) throw new Error("the script would end its element");
  const style = await esbuild.build({
    entryPoints: [sheet],
    bundle: true,
    minify: true,
    charset: "ascii",
    write: false,
  });
  const text = style.outputFiles[0].text;
  // What may run and what may dress the page is told by its hash.
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script.text)}`,
    `style-src ${styles ?? hash(text)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  mkdirSync(`${folder}/${page}`, { recursive: true });
  writeFileSync(`${folder}/${page}/${page}.js`, script.text);
  writeFileSync(`${folder}/${page}/${page}.css`, text);
  writeFileSync(`${folder}/${page}/policy.txt`, policy.join("; ") + "\n");
}

// Charts bring a style of their own.
await build("page", { script: "page.js", style: "page.css", styles: "'unsafe-inline'" });
await build("view", { script: "view/main.ts", style: "view/view.css" });
