// The time axis, what was found along it, and the ruler.
import type { Colours } from "./colours.js";
import type { Scene } from "./scene.js";
import { long, ticks } from "./time.js";

export const AXIS = 34;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

export function drawAxis(
  context: CanvasRenderingContext2D,
  scene: Scene,
  colours: Colours,
  gutter: number,
) {
  const { view } = scene;
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, gutter + view.width, AXIS);
  context.save();
  context.beginPath();
  context.rect(gutter, 0, view.width, AXIS + view.height);
  context.clip();
  context.translate(gutter, 0);
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  for (const { at, text } of ticks(view.from, view.to, view.width / 110)) {
    const x = Math.round(view.x(at));
    context.fillStyle = colours.strong;
    context.fillRect(x, AXIS - 8, 1, 8);
    context.globalAlpha = at === 0 ? 0.9 : 0.18;
    context.fillRect(x, AXIS, 1, view.height);
    context.globalAlpha = 1;
    context.fillStyle = colours.soft;
    context.fillText(text, x + 4, 13);
  }
  marks(context, scene, colours);
  ruler(context, scene, colours);
  context.restore();
  context.fillStyle = colours.strong;
  context.fillRect(0, AXIS - 1, gutter + view.width, 1);
  context.fillStyle = colours.soft;
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.fillText(`${long(view.to - view.from)} in sight`, 10, 16);
}

/// Where along the axis there is something that was searched for.
function marks(context: CanvasRenderingContext2D, scene: Scene, colours: Colours) {
  const { view, found } = scene;
  if (!found) return;
  context.fillStyle = colours.palette[4];
  let last = -9;
  for (const thing of found.things) {
    const times = scene.timesOf(thing);
    if (!times || times[0] > view.to) continue;
    const x = Math.round(view.x(times[0]));
    if (x < 0 || x === last) continue;
    context.fillRect(x, AXIS - 7, 2, 6);
    last = x;
  }
}

function ruler(context: CanvasRenderingContext2D, scene: Scene, colours: Colours) {
  const { view } = scene;
  if (!scene.ruler) return;
  const [from, to] = scene.ruler.map((time) => view.x(time));
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.1;
  context.fillRect(from, 0, to - from, AXIS + view.height);
  context.globalAlpha = 1;
  context.fillRect(from - 1, 0, 1, AXIS + view.height);
  context.fillRect(to, 0, 1, AXIS + view.height);
  const text = long(scene.ruler[1] - scene.ruler[0]);
  context.font = `600 12px ${FONT}`;
  const wide = context.measureText(text).width + 10;
  const x = Math.min(Math.max((from + to - wide) / 2, 2), view.width - wide - 2);
  context.fillRect(x, 3, wide, 18);
  context.fillStyle = colours.card;
  context.fillText(text, x + 5, 12.5);
}
