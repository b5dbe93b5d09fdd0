// Wheel, pointer and keys.
import { AXIS } from "./axis.js";
import { neighbour, pick, rowAt } from "./pick.js";
import type { Scene } from "./scene.js";
import type { Tip } from "./tip.js";

/// Part of the view that a held key moves in a second, and how much nearer it brings it.
const SPEED = 1.1;
const NEARER = 4;
/// Pixels that a pointer moves before it drags.
const STILL = 4;

export interface Around {
  gutter: () => number;
  draw: () => void;
  tip: Tip;
  focusSearch: () => void;
  step: (by: 1 | -1) => void;
}

export class Input {
  private held = new Set<string>();
  private pointers = new Map<number, { x: number; y: number }>();
  private drag: { x: number; y: number; ruler: boolean; moved: boolean; from: number } | null = null;
  private last = 0;

  constructor(
    private canvas: HTMLCanvasElement,
    private scene: Scene,
    private around: Around,
  ) {
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.forget(event));
    canvas.addEventListener("pointerleave", () => this.hover(null, 0, 0));
    canvas.addEventListener("dblclick", () => this.nearSelected());
    window.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("keyup", (event) => this.held.delete(event.key.toLowerCase()));
    window.addEventListener("blur", () => this.held.clear());
  }

  private place(event: MouseEvent) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left - this.around.gutter(), y: event.clientY - box.top - AXIS };
  }

  private wheel(event: WheelEvent) {
    event.preventDefault();
    const { view } = this.scene;
    const { x } = this.place(event);
    const unit = event.deltaMode === 1 ? 20 : 1;
    const [across, along] = [event.deltaX * unit, event.deltaY * unit];
    if (x < 0) view.move(along);
    else if (event.shiftKey) view.pan(along || across);
    else if (Math.abs(across) > Math.abs(along)) view.pan(across);
    else view.zoom(x, Math.exp(-along / 400));
    this.around.draw();
  }

  private down(event: PointerEvent) {
    if (event.button !== 0) return;
    const { x, y } = this.place(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x, y });
    const ruler = x >= 0 && (y < 0 || event.shiftKey);
    this.drag = { x, y, ruler, moved: false, from: this.scene.view.time(x) };
  }

  private move(event: PointerEvent) {
    const { view } = this.scene;
    const { x, y } = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before || !this.drag) {
      this.hover(event, x, y);
      return;
    }
    const { drag } = this;
    if (Math.hypot(x - drag.x, y - drag.y) > STILL) drag.moved = true;
    if (this.pointers.size === 2) this.pinch(event.pointerId, before, { x, y });
    else if (drag.moved && drag.ruler) {
      const to = view.time(Math.min(Math.max(x, 0), view.width));
      this.scene.ruler = [Math.min(drag.from, to), Math.max(drag.from, to)];
      this.scene.changed();
    } else if (drag.moved) {
      view.pan(before.x - x);
      view.move(before.y - y);
    }
    this.pointers.set(event.pointerId, { x, y });
    this.around.tip.hide();
    this.around.draw();
  }

  private pinch(which: number, before: { x: number; y: number }, now: { x: number; y: number }) {
    const other = [...this.pointers].find(([id]) => id !== which)?.[1];
    if (!other) return;
    const [was, is] = [Math.abs(before.x - other.x), Math.abs(now.x - other.x)];
    if (was > 10 && is > 10) this.scene.view.zoom((now.x + other.x) / 2, is / was);
  }

  private up(event: PointerEvent) {
    const { drag } = this;
    const single = this.pointers.size === 1;
    this.forget(event);
    if (!drag || drag.moved || !single) return;
    if (drag.y < 0) {
      this.scene.ruler = null;
      this.scene.changed();
      return;
    }
    const row = rowAt(this.scene, drag.y);
    if (drag.x < 0) {
      if (row?.kind === "group" || row?.kind === "title") this.scene.fold(row);
      this.scene.select(row && { kind: "row", source: row.source, index: row.track });
    } else {
      const thing = pick(this.scene, drag.x, drag.y);
      const own = row && { kind: "row" as const, source: row.source, index: row.track };
      this.scene.select(thing ?? own);
    }
  }

  private forget(event: PointerEvent) {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) this.drag = null;
  }

  private hover(event: PointerEvent | null, x: number, y: number) {
    const thing = event && x >= 0 && y >= 0 ? pick(this.scene, x, y) : null;
    const { hovered } = this.scene;
    const same = hovered?.kind === thing?.kind && hovered?.index === thing?.index;
    this.scene.hovered = thing;
    this.canvas.style.cursor = y < 0 ? "col-resize" : thing ? "pointer" : "default";
    this.around.tip.show(event?.clientX ?? 0, event?.clientY ?? 0);
    if (!same || hovered?.source !== thing?.source) this.around.draw();
  }

  nearSelected() {
    const { selected, view } = this.scene;
    const times = selected && this.scene.timesOf(selected);
    if (!times) return;
    const room = Math.max((times[1] - times[0]) * 0.5, 20);
    view.show(times[0] - room, times[1] + room);
    this.around.draw();
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if ("wasd".includes(key) && key.length === 1) {
      if (this.held.size === 0) {
        this.last = performance.now();
        requestAnimationFrame((now) => this.glide(now));
      }
      this.held.add(key);
      return;
    }
    if (key === "Enter" && target.matches("button, summary, a")) return;
    const act = this.acts()[key === "n" && event.shiftKey ? "N" : key];
    if (!act) return;
    // Arrow keys scroll what they are pressed in, if that is no picture.
    if (key.startsWith("Arrow") && target.closest(".panel")) return;
    event.preventDefault();
    act();
  }

  private acts(): Record<string, () => void> {
    const { scene, around } = this;
    const { view, selected } = scene;
    const edge = (which: 0 | 1) => () => {
      const times = (selected && scene.timesOf(selected)) ?? [view.from, view.to];
      const ruler: [number, number] = [...(scene.ruler ?? [view.from, view.to])];
      ruler[which] = times[which];
      scene.ruler = ruler[0] <= ruler[1] ? ruler : [ruler[1], ruler[0]];
      scene.changed();
    };
    return {
      f: () => this.nearSelected(),
      m: () => {
        scene.ruler = (selected && scene.timesOf(selected)) ?? [view.from, view.to];
        scene.changed();
      },
      "[": edge(0),
      "]": edge(1),
      "0": () => {
        view.all();
        around.draw();
      },
      "/": around.focusSearch,
      n: () => around.step(1),
      N: () => around.step(-1),
      Escape: () => {
        scene.ruler = null;
        scene.select(null);
      },
      Enter: () => {
        const row = selected?.kind === "row" ? scene.rowOf(selected) : null;
        if (row) scene.fold(row);
        else this.nearSelected();
      },
      ArrowLeft: () => this.walk(-1),
      ArrowRight: () => this.walk(1),
      ArrowUp: () => this.climb(-1),
      ArrowDown: () => this.climb(1),
      PageUp: () => {
        view.move(-view.height * 0.8);
        around.draw();
      },
      PageDown: () => {
        view.move(view.height * 0.8);
        around.draw();
      },
    };
  }

  private walk(by: 1 | -1) {
    const { scene } = this;
    if (!scene.selected) this.climb(1);
    else scene.select(neighbour(scene, scene.selected, by) ?? scene.selected, true);
  }

  private climb(by: 1 | -1) {
    const { scene } = this;
    const rows = scene.rows.filter((row) => row.height > 0 && row.track >= 0);
    if (rows.length === 0) return;
    const own = scene.selected && scene.rowOf(scene.selected);
    const at = own ? rows.indexOf(own) + by : 0;
    const row = rows[Math.min(Math.max(at, 0), rows.length - 1)];
    scene.select({ kind: "row", source: row.source, index: row.track }, true);
  }

  /// Moves for as long as keys are held, as far in each frame as it took.
  private glide(now: number) {
    if (this.held.size === 0) return;
    const { view } = this.scene;
    const seconds = Math.min((now - this.last) / 1000, 0.1) || 1 / 60;
    this.last = now;
    const across = Number(this.held.has("d")) - Number(this.held.has("a"));
    const nearer = Number(this.held.has("w")) - Number(this.held.has("s"));
    if (across) view.pan(across * view.width * SPEED * seconds);
    if (nearer) view.zoom(view.width / 2, NEARER ** (nearer * seconds));
    this.around.draw();
    requestAnimationFrame((then) => this.glide(then));
  }
}
