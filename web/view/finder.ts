// The search field: what is found, how many of it, and the way from one to the next.
import { button, element } from "./dom.js";
import type { Scene } from "./scene.js";
import { find } from "./search.js";
import { whole } from "./time.js";

/// How long somebody types on before it is searched for, in milliseconds.
const PAUSE = 120;

export class Finder {
  private field = element("input", "", {
    type: "search",
    placeholder: "Search: name, #12, flow:1, port:7",
    "aria-label": "Search by name, number or flow",
    spellcheck: "false",
    autocomplete: "off",
  });
  private count = element("output", "count", { "aria-live": "polite" });
  private typing = 0;
  readonly root = element(
    "div", "find", {}, this.field, this.count,
    button("‹", "The find before", () => this.step(-1)),
    button("›", "Next find", () => this.step(1)),
  );

  constructor(private scene: Scene, private leave: () => void) {
    this.field.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = window.setTimeout(() => this.look(), PAUSE);
    });
    this.field.addEventListener("keydown", (event) => this.key(event));
  }

  focus() {
    this.field.focus();
  }

  /// Searches for what is in the field, in the traces as they are now.
  look() {
    clearTimeout(this.typing);
    this.typing = 0;
    this.scene.found = find(this.scene.sources, this.field.value);
    this.tell();
    this.scene.changed();
  }

  /// Chooses the next find, or the one before.
  step(by: 1 | -1) {
    const { found } = this.scene;
    if (!found?.things.length) return;
    const { length } = found.things;
    const first = by > 0 ? 0 : length - 1;
    found.at = found.at < 0 ? first : (found.at + by + length) % length;
    this.tell();
    this.scene.select(found.things[found.at], true);
  }

  private tell() {
    const { found } = this.scene;
    const at = found && found.at >= 0 ? `${whole(found.at + 1)} of ` : "";
    this.count.value = !found ? "" : found.count === 0 ? "none" : at + whole(found.count);
  }

  private key(event: KeyboardEvent) {
    if (event.key === "Enter") {
      if (this.typing) this.look();
      this.step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.field.value = "";
      this.look();
      this.leave();
    }
  }
}
