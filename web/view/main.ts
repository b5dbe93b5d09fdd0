// The page: loads the traces, builds what is around the picture, and draws when something changes.
import { AXIS, drawAxis } from "./axis.js";
import { Colours } from "./colours.js";
import { type Trace, extent, load, rebase } from "./data.js";
import { button, element } from "./dom.js";
import { Painter } from "./draw.js";
import { Input } from "./input.js";
import { Legend } from "./legend.js";
import { Panel, pairsOf } from "./panel.js";
import { sourceOf } from "./rows.js";
import { Scene } from "./scene.js";
import { find } from "./search.js";
import { long, whole } from "./time.js";

const KEYS: [string, string][] = [
  ["wheel, w and s", "nearer, further"],
  ["drag, a and d", "earlier, later; dragging moves rows too"],
  ["shift and wheel", "earlier, later"],
  ["wheel over names, Page Up, Page Down", "rows"],
  ["drag along the axis, or with shift", "ruler; a click on the axis removes it"],
  ["m", "ruler over what is chosen"],
  ["[ and ]", "ruler begins, ends there"],
  ["arrow keys", "other rows; what comes before and after in a row"],
  ["f, Enter, double click", "what is chosen fills the picture"],
  ["0", "everything in sight"],
  ["/", "search"],
  ["n and N", "next find, the one before"],
  ["Escape", "choose nothing"],
];

const align = () => document.querySelector<HTMLMetaElement>("meta[name=align]")?.content ?? "event";

/// Has each trace begin at its first event, or at its first message.
function alignTo(traces: Trace[], what: string) {
  for (const trace of traces) {
    const began = trace.messages.began.find((time) => !Number.isNaN(time));
    rebase(trace, what === "message" && began !== undefined ? began : extent(trace)[0]);
  }
}

function sceneOf(traces: Trace[]): Scene {
  const scene = new Scene(
    traces.map((trace, at) => sourceOf(trace, String.fromCharCode(65 + at), traces.length > 1)),
  );
  const extents = traces.map(extent);
  scene.view.bound(Math.min(...extents.map(([first]) => first)), Math.max(...extents.map(([, last]) => last)));
  scene.view.all();
  return scene;
}

function warnings(traces: Trace[]): string {
  return traces
    .flatMap(({ name, dropped, cut }) => [
      dropped ? `${name}: ${whole(dropped)} events were dropped while it was written.` : "",
      cut ? `${name} ends in the middle of an event: its writer was stopped.` : "",
    ])
    .filter(Boolean)
    .join(" ");
}

function start(traces: Trace[], place: HTMLElement) {
  alignTo(traces, align());
  const scene = sceneOf(traces);
  const canvas = element("canvas", "", { tabindex: "0", role: "img", id: "timeline" });
  const frame = element("div", "frame", {}, canvas);
  const context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  const colours = new Colours(context);
  const gutter = () => (frame.clientWidth < 620 ? 104 : 190);
  const painter = new Painter(context, scene, colours, gutter);
  const legend = new Legend(scene, colours);
  const keys = element("details", "", {}, element("summary", "", {}, "Keys and pointer"),
    element("dl", "keys", {}, ...KEYS.flatMap(([key, does]) => [element("dt", "", {}, key), element("dd", "", {}, does)])));
  const panel = new Panel(scene, legend.root, keys);
  const tip = element("div", "tip", { hidden: "" });

  let asked = false;
  const draw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      paint();
    });
  };
  let spoken = 0;
  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const drawn = painter.paint(AXIS);
    drawAxis(context, scene, colours, gutter());
    performance.mark("narrows-drawn");
    clearTimeout(spoken);
    // What can be seen, for who does not see it.
    spoken = window.setTimeout(() => {
      const { from, to } = scene.view;
      canvas.setAttribute("aria-label",
        `Timeline: ${drawn.rows} rows, ${drawn.shapes} stretches and ${drawn.arrows} messages drawn, ` +
        `${long(to - from)} from ${long(from)}. Move with w a s d and the arrow keys.`);
      panel.update();
    }, 60);
  };
  scene.changed = () => {
    panel.update();
    draw();
  };

  const search = element("input", "", {
    type: "search", placeholder: "Search: name, #12, flow:1, port:7", "aria-label": "Search by name, number or flow",
    spellcheck: "false", autocomplete: "off",
  });
  const count = element("output", "count", { "aria-live": "polite" });
  const step = (by: 1 | -1) => {
    const { found } = scene;
    if (!found?.things.length) return;
    const { length } = found.things;
    found.at = found.at < 0 ? (by > 0 ? 0 : length - 1) : (found.at + by + length) % length;
    tellCount();
    scene.select(found.things[found.at], true);
  };
  let total = 0;
  const tellCount = () => {
    const { found } = scene;
    count.value = !found ? "" : total === 0 ? "none" : `${found.at < 0 ? "" : `${whole(found.at + 1)} of `}${whole(total)}`;
  };
  let typing = 0;
  const look = () => {
    clearTimeout(typing);
    typing = 0;
    const found = find(scene.sources, search.value);
    scene.found = found;
    total = found?.count ?? 0;
    tellCount();
    scene.changed();
  };
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(look, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      if (typing) look();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      search.value = "";
      look();
      canvas.focus();
    }
  });

  const around = {
    gutter, draw, step,
    tell: (text: string | null, x: number, y: number) => {
      tip.hidden = text === null || !scene.hovered;
      if (tip.hidden || !scene.hovered) return;
      const [first, ...rest] = pairsOf(scene.hovered);
      const more = rest.filter(([name]) => ["takes", "latency", "waits at its receiver", "when"].includes(name));
      tip.replaceChildren(element("b", "", {}, first[1]), ...more.map(([name, value]) => element("div", "", {}, `${name} ${value}`)));
      tip.style.left = `${Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.min(y + 16, innerHeight - tip.offsetHeight - 8)}px`;
    },
    focusSearch: () => search.focus(),
  };
  const input = new Input(canvas, scene, around);
  const realign = element("select", "", { "aria-label": "Zero of the time axis" },
    element("option", "", { value: "event" }, "zero: first event"),
    element("option", "", { value: "message" }, "zero: first message"));
  realign.value = align();
  realign.addEventListener("change", () => {
    alignTo(traces, realign.value);
    const again = sceneOf(traces);
    scene.sources = again.sources;
    const extents = traces.map(extent);
    scene.view.bound(Math.min(...extents.map(([first]) => first)), Math.max(...extents.map(([, last]) => last)));
    scene.view.all();
    scene.arrange();
    scene.ruler = null;
    scene.hovered = null;
    scene.select(null);
    look();
  });

  const bar = element("header", "bar", {},
    element("h1", "", {}, ...traces.flatMap(({ name }, at) => [
      at > 0 ? " " : null,
      traces.length > 1 ? element("span", "mark", {}, String.fromCharCode(65 + at)) : null,
      name,
    ])),
    element("div", "find", {}, search, count,
      button("‹", "The find before", () => step(-1)), button("›", "Next find", () => step(1))),
    element("div", "tools", {},
      button("−", "Further", () => { scene.view.zoom(scene.view.width / 2, 0.5); draw(); }),
      button("+", "Nearer", () => { scene.view.zoom(scene.view.width / 2, 2); draw(); }),
      button("Everything", "Everything in sight", () => { scene.view.all(); draw(); }),
      button("Zoom to chosen", "What is chosen fills the picture", () => input.nearSelected()),
      realign),
  );
  const warning = warnings(traces);
  place.replaceChildren(bar, ...(warning ? [element("p", "warning", {}, warning)] : []), frame, legend.brief, panel.root, tip);

  const resize = () => {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [frame.clientWidth, frame.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    scene.view.width = Math.max(1, width - gutter());
    scene.view.height = Math.max(1, height - AXIS);
    scene.view.move(0);
    paint();
  };
  new ResizeObserver(resize).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.read();
    legend.draw();
    draw();
  });
  panel.update();
}

const place = document.querySelector<HTMLElement>("#view");
if (place) {
  load()
    .then((traces) => start(traces, place))
    .catch((error: Error) => {
      place.replaceChildren(element("p", "wait", { role: "alert" }, `The trace cannot be shown: ${error.message}.`));
      console.error(error);
    });
}
