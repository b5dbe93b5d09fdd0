// What has which colour. Colours come from the style sheet, so light and dark are decided there.
// Texture says more than colour does: solid works, hatched waits, pale sleeps.
import { SLEEPING, WAITING } from "./rows.js";

/// Layers and states by number of the palette; other names get one by their letters.
const KNOWN = new Map(Object.entries({
  endpoint: 6, link: 2, connection: 3, driver: 1, memory: 4,
  receive: 7, deliver: 8, acknowledge: 7, notice: 8, interrupt: 5,
  A: 2, B: 4, C: 1, D: 3, E: 7,
  running: 3, copy: 6, spinning: 7, switch: 8, interrupted: 5, bus: 4,
  ready: 1, waking: 2, "no credit": 5, "no block": 4, switching: 7,
  "bell late": 5, "bell lost": 5, stopped: 8, asleep: 8, timer: 8,
}));
const PALETTE = 8;

export interface Paint {
  fill: string | CanvasPattern;
  ink: string;
}

export class Colours {
  text = "";
  soft = "";
  line = "";
  strong = "";
  ground = "";
  card = "";
  accent = "";
  warn = "";
  palette: string[] = [];
  inks: string[] = [];
  request = "";
  response = "";
  other = "";
  private hatches: CanvasPattern[] = [];
  private pale = "";
  private known = new Map<string, Paint>();

  constructor(private context: CanvasRenderingContext2D) {
    this.read();
  }

  /// Takes the colours of the theme that is on.
  read() {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
    this.text = of("text");
    this.soft = of("soft");
    this.line = of("line");
    this.strong = of("line-strong");
    this.ground = of("ground");
    this.card = of("card");
    this.accent = of("accent");
    this.warn = of("warn");
    const numbers = Array.from({ length: PALETTE }, (_, at) => at + 1);
    this.palette = numbers.map((at) => of(`c${at}`));
    this.inks = numbers.map((at) => of(`i${at}`));
    [this.request, this.response, this.other] = [this.palette[5], this.palette[2], this.palette[3]];
    this.pale = of("pale");
    this.hatches = this.palette.map((colour) => this.hatch(colour));
    this.known.clear();
  }

  /// Has textures move with what they are on.
  shift(x: number, y: number) {
    const moved = new DOMMatrix().translate(x % 6, y % 6);
    for (const hatch of this.hatches) hatch.setTransform(moved);
  }

  of(name: string): Paint {
    let found = this.known.get(name);
    if (!found) {
      const place = (KNOWN.get(name) ?? 1 + (hash(name) % PALETTE)) - 1;
      const [fill, ink] = [this.palette[place], this.inks[place]];
      found = { fill, ink };
      if (WAITING.has(name)) found = { fill: this.hatches[place], ink: this.text };
      if (SLEEPING.has(name)) found = { fill: this.pale, ink: this.soft };
      this.known.set(name, found);
    }
    return found;
  }

  ofMessage(kind: string): string {
    if (kind === "request") return this.request;
    return kind === "response" ? this.response : this.other;
  }

  waiting(kind: string): CanvasPattern {
    return this.hatches[kind === "request" ? 5 : kind === "response" ? 2 : 3];
  }

  private hatch(colour: string): CanvasPattern {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const context = tile.getContext("2d") as CanvasRenderingContext2D;
    context.globalAlpha = 0.28;
    context.fillStyle = colour;
    context.fillRect(0, 0, 6, 6);
    context.globalAlpha = 1;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    for (const at of [-6, 0, 6]) {
      context.moveTo(at - 1, 7);
      context.lineTo(at + 7, -1);
    }
    context.stroke();
    return this.context.createPattern(tile, "repeat") as CanvasPattern;
  }
}

function hash(text: string): number {
  let value = 7;
  for (let at = 0; at < text.length; at++) value = (value * 31 + text.charCodeAt(at)) >>> 0;
  return value;
}
