// What is said beside the pointer of what lies under it.
import { element } from "./dom.js";
import { pairsOf } from "./panel.js";
import type { Scene } from "./scene.js";

/// What is said of a thing beside what it is.
const MORE = ["takes", "latency", "waits at its receiver", "when"];

export class Tip {
  readonly root = element("div", "tip", { hidden: "" });

  constructor(private scene: Scene) {}

  hide() {
    this.root.hidden = true;
  }

  /// Says what is under the pointer, if anything is.
  show(x: number, y: number) {
    const { root } = this;
    const { hovered } = this.scene;
    root.hidden = !hovered;
    if (!hovered) return;
    const [[, what], ...rest] = pairsOf(hovered);
    const more = rest.filter(([name]) => MORE.includes(name));
    root.replaceChildren(
      element("b", "", {}, what),
      ...more.map(([name, value]) => element("div", "", {}, `${name} ${value}`)),
    );
    root.style.left = `${Math.max(0, Math.min(x + 14, innerWidth - root.offsetWidth - 8))}px`;
    root.style.top = `${Math.min(y + 16, innerHeight - root.offsetHeight - 8)}px`;
  }
}
