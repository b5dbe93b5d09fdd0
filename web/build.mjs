// Bundles the script and the style of a page into the folder that the command embeds them from.
// node build.mjs [FOLDER]
import { createHash } from "node:crypto";
import * as esbuild from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const folder = process.argv[2] ?? "../crates/narrows-cli/src/base/page/assets";

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

const { metafile } = await bundle("page.js");
const notice = `/*!\n${licences(packages(metafile))}\n*/`;
const script = await bundle("page.js", { js: notice });
if (/<\/script|<!--/i.test(script.text)) throw new Error("the script would end its element");
writeFileSync(`${folder}/page.js`, script.text);
const style = await esbuild.build({
  entryPoints: ["page.css"],
  minify: true,
  charset: "ascii",
  write: false,
});
writeFileSync(`${folder}/page.css`, style.outputFiles[0].text);
// The one script that may run is told by its hash. Charts bring a style of their own.
const hash = createHash("sha256").update(script.text).digest("base64");
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${hash}'`,
  "style-src 'unsafe-inline'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
];
writeFileSync(`${folder}/policy.txt`, policy.join("; ") + "\n");
