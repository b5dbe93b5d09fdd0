// The page: loads the traces, builds what is around the picture, and draws when something changes.
import { AXIS, drawAxis } from "./axis.js";
import { Colours } from "./colours.js";
import { type Trace, extent, load, rebase } from "./data.js";
import { button, element } from "./dom.js";
import { type Drawn, Painter } from "./draw.js";
import { Finder } from "./finder.js";
import { Input } from "./input.js";
import { Legend } from "./legend.js";
import { Panel } from "./panel.js";
import { type Source, sourceOf } from "./rows.js";
import { Scene } from "./scene.js";
import { long, whole } from "./time.js";
import { Tip } from "./tip.js";

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

/// Below this width of the picture, names have less room.
const NARROW = 620;
/// How long the picture rests before it is put into words, in milliseconds.
const REST = 60;

const mark = (at: number) => String.fromCharCode(65 + at);

/// Has each trace begin at its first event, or at its first message.
function alignTo(traces: Trace[], what: string) {
  for (const trace of traces) {
    const began = trace.messages.began.find((time) => !Number.isNaN(time));
    rebase(trace, what === "message" && began !== undefined ? began : extent(trace)[0]);
  }
}

function sourcesOf(traces: Trace[]): Source[] {
  return traces.map((trace, at) => sourceOf(trace, mark(at), traces.length > 1));
}

function warnings(traces: Trace[]): HTMLElement | null {
  const all = traces.flatMap(({ name, dropped, cut }) => [
    dropped ? `${name}: ${whole(dropped)} events were dropped while it was written.` : "",
    cut ? `${name} ends in the middle of an event: its writer was stopped.` : "",
  ]);
  const text = all.filter(Boolean).join(" ");
  return text ? element("p", "warning", {}, text) : null;
}

function keys(): HTMLElement {
  const all = KEYS.flatMap(([key, does]) => [
    element("dt", "", {}, key),
    element("dd", "", {}, does),
  ]);
  const list = element("dl", "keys", {}, ...all);
  return element("details", "", {}, element("summary", "", {}, "Keys and pointer"), list);
}

/// The picture, and what draws it.
class Picture {
  readonly canvas = element("canvas", "", { tabindex: "0", role: "img", id: "timeline" });
  readonly root = element("div", "frame", {}, this.canvas);
  readonly context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  readonly colours = new Colours(this.context);
  readonly gutter = () => (this.root.clientWidth < NARROW ? 104 : 190);
  private painter: Painter;
  private asked = false;
  private resting = 0;

  constructor(private scene: Scene, private rested: () => void) {
    this.painter = new Painter(this.context, scene, this.colours, this.gutter);
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  /// Draws with the next frame.
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  private paint() {
    const ratio = window.devicePixelRatio || 1;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const drawn = this.painter.paint(AXIS);
    drawAxis(this.context, this.scene, this.colours, this.gutter());
    performance.mark("narrows-drawn");
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.say(drawn), REST);
  }

  /// What can be seen, for who does not see it.
  private say({ rows, shapes, arrows }: Drawn) {
    const { from, to } = this.scene.view;
    const text =
      `Timeline: ${rows} rows, ${shapes} stretches and ${arrows} messages drawn, ` +
      `${long(to - from)} from ${long(from)}. Move with w a s d and the arrow keys.`;
    this.canvas.setAttribute("aria-label", text);
    this.rested();
  }

  private resize() {
    const { canvas, root, scene } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [root.clientWidth, root.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    scene.view.width = Math.max(1, width - this.gutter());
    scene.view.height = Math.max(1, height - AXIS);
    scene.view.move(0);
    this.paint();
  }
}

function start(traces: Trace[], place: HTMLElement) {
  const zero = document.querySelector<HTMLMetaElement>("meta[name=align]")?.content ?? "event";
  alignTo(traces, zero);
  const scene = new Scene(sourcesOf(traces));
  scene.bound();
  const picture: Picture = new Picture(scene, () => panel.update());
  const legend = new Legend(scene, picture.colours);
  const panel = new Panel(scene, legend.root, keys());
  const finder = new Finder(scene, () => picture.canvas.focus());
  const tip = new Tip(scene);
  const draw = () => picture.draw();
  scene.changed = () => {
    panel.update();
    draw();
  };
  const input = new Input(picture.canvas, scene, {
    gutter: picture.gutter, draw, tip,
    step: (by) => finder.step(by),
    focusSearch: () => finder.focus(),
  });

  const realign = element(
    "select", "", { "aria-label": "Zero of the time axis" },
    element("option", "", { value: "event" }, "zero: first event"),
    element("option", "", { value: "message" }, "zero: first message"),
  );
  realign.value = zero;
  realign.addEventListener("change", () => {
    alignTo(traces, realign.value);
    scene.replace(sourcesOf(traces));
    finder.look();
  });
  const act = (does: () => void) => () => {
    does();
    draw();
  };
  const { view } = scene;
  const tools = element(
    "div", "tools", {},
    button("−", "Further", act(() => view.zoom(view.width / 2, 0.5))),
    button("+", "Nearer", act(() => view.zoom(view.width / 2, 2))),
    button("Everything", "Everything in sight", act(() => view.all())),
    button("Zoom to chosen", "What is chosen fills the picture", () => input.nearSelected()),
    realign,
  );
  const names = traces.flatMap(({ name }, at) => [
    traces.length > 1 ? element("span", "mark", {}, mark(at)) : null,
    name,
  ]);
  place.replaceChildren(
    element("header", "bar", {}, element("h1", "", {}, ...names), finder.root, tools),
    ...[warnings(traces)].filter((one) => one !== null),
    picture.root, legend.brief, panel.root, tip.root,
  );
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    picture.colours.read();
    legend.draw();
    draw();
  });
}

const place = document.querySelector<HTMLElement>("#view");
if (place) {
  load()
    .then((traces) => start(traces, place))
    .catch((error: Error) => {
      const text = `The trace cannot be shown: ${error.message}.`;
      place.replaceChildren(element("p", "wait", { role: "alert" }, text));
      console.error(error);
    });
}
