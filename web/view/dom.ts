// Elements. Whatever comes from a trace becomes text, never markup.

type Child = Node | string | null;

/// An element of a tag and classes, such as `td.number`.
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  classes = "",
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child): child is Node | string => child !== null));
  return made;
}

export function button(text: string, says: string, act: () => void): HTMLButtonElement {
  const made = element("button", "", { type: "button", title: says, "aria-label": says }, text);
  made.addEventListener("click", act);
  return made;
}

/// A table whose first column heads its rows. Cells from the second on are figures, unless `words`.
export function table(heads: string[], rows: Child[][], words = false): HTMLElement {
  const head = heads.map((name, at) =>
    element("th", at > 0 && !words ? "number" : "", { scope: "col" }, name),
  );
  const cell = (child: Child, at: number) =>
    at === 0
      ? element("th", "", { scope: "row" }, child)
      : element("td", words ? "" : "number", {}, child);
  const body = rows.map((row) => element("tr", "", {}, ...row.map(cell)));
  const made = element(
    "table", "", {},
    heads.length ? element("thead", "", {}, element("tr", "", {}, ...head)) : null,
    element("tbody", "", {}, ...body),
  );
  return element("div", "scroll", {}, made);
}
