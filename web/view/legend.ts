// What colours, textures and marks mean, of what the traces have.
import type { Colours } from "./colours.js";
import { element } from "./dom.js";
import type { Scene } from "./scene.js";

/// Names that are explained; a trace may have thousands.
const MOST = 24;

function swatch(draw: (context: CanvasRenderingContext2D) => void): HTMLElement {
  const canvas = element("canvas", "", { width: "56", height: "28", "aria-hidden": "true" });
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.scale(2, 2);
  draw(context);
  return canvas;
}

function entry(draw: (context: CanvasRenderingContext2D) => void, text: string): HTMLElement {
  return element("li", "", {}, swatch(draw), text);
}

function namesOf(scene: Scene, category: string): string[] {
  const names = new Set<string>();
  for (const { trace } of scene.sources) {
    const wanted = trace.categories.indexOf(category);
    const seen = new Uint8Array(trace.strings.length);
    trace.slices.category.forEach((one, at) => one === wanted && (seen[trace.slices.name[at]] = 1));
    trace.strings.forEach((name, at) => seen[at] && names.add(name));
  }
  return [...names].slice(0, MOST);
}

function messages(colours: Colours): HTMLElement[] {
  const arrow = (colour: string, dash: number[], lost = false) => (context: CanvasRenderingContext2D) => {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.6;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(1, 7);
    context.lineTo(lost ? 14 : 22, 7);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    if (lost) {
      context.moveTo(14, 3);
      context.lineTo(22, 11);
      context.moveTo(14, 11);
      context.lineTo(22, 3);
      context.stroke();
      return;
    }
    context.moveTo(27, 7);
    context.lineTo(20, 3.5);
    context.lineTo(20, 10.5);
    context.fill();
  };
  const bar = (fill: string | CanvasPattern) => (context: CanvasRenderingContext2D) => {
    context.fillStyle = fill;
    context.fillRect(1, 4, 26, 6);
  };
  return [
    entry(arrow(colours.request, []), "request"),
    entry(arrow(colours.response, [4, 2]), "response"),
    entry(arrow(colours.other, []), "other message"),
    entry(arrow(colours.warn, [], true), "never received"),
    entry(bar(colours.request), "sender in the call"),
    entry(bar(colours.waiting("request")), "waits at its receiver"),
  ];
}

function marks(colours: Colours): HTMLElement[] {
  return [
    entry((context) => {
      context.fillStyle = colours.text;
      context.translate(14, 7);
      context.rotate(Math.PI / 4);
      context.fillRect(-4, -4, 8, 8);
    }, "decision"),
    entry((context) => {
      context.strokeStyle = colours.warn;
      context.lineWidth = 2.5;
      context.beginPath();
      context.moveTo(10, 3);
      context.lineTo(18, 11);
      context.moveTo(18, 3);
      context.lineTo(10, 11);
      context.stroke();
    }, "fault"),
    entry((context) => {
      context.fillStyle = colours.soft;
      context.beginPath();
      context.moveTo(10, 3);
      context.lineTo(18, 3);
      context.lineTo(14, 11);
      context.fill();
    }, "other moment"),
  ];
}

const HEADS: [string, string][] = [
  ["state", "States: solid works, hatched waits, pale sleeps"],
  ["call", "Calls of layers"],
  ["phase", "Phases of a call"],
  ["interrupt", "Interrupts"],
  ["bus", "Who has a bus"],
  ["span", "What programs say"],
];

/// What is to be known at once, on a line below the picture.
function brief(colours: Colours): HTMLElement[] {
  const block = (name: string) => (context: CanvasRenderingContext2D) => {
    context.fillStyle = colours.of(name).fill;
    context.fillRect(0, 1, 28, 12);
  };
  const [request, response, other, lost, , waits] = messages(colours);
  return [
    entry(block("running"), "works"),
    entry(block("ready"), "waits"),
    entry(block("asleep"), "sleeps"),
    request, response, other, lost, waits,
    ...marks(colours).slice(0, 2),
  ];
}

export class Legend {
  readonly root = element("details", "", { open: "" });
  readonly brief = element("ul", "brief", { "aria-label": "Legend" });

  constructor(private scene: Scene, private colours: Colours) {
    this.draw();
  }

  draw() {
    const { colours, scene } = this;
    const blocks = HEADS.flatMap(([category, head]) => {
      const names = namesOf(scene, category);
      if (names.length === 0) return [];
      const items = names.map((name) =>
        entry((context) => {
          context.fillStyle = colours.of(name).fill;
          context.fillRect(0, 1, 28, 12);
        }, name),
      );
      return [element("h3", "", {}, head), element("ul", "legend", {}, ...items)];
    });
    this.brief.replaceChildren(...brief(colours));
    this.root.replaceChildren(
      element("summary", "", {}, "Legend"),
      element("h3", "", {}, "Messages"),
      element("ul", "legend", {}, ...messages(colours)),
      ...blocks,
      element("h3", "", {}, "Moments"),
      element("ul", "legend", {}, ...marks(colours)),
    );
  }
}
