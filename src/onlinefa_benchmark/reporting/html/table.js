// Sortable tables: a click or a key on the name of a column sorts by it.

const readable = new Intl.Collator("en", { numeric: true });

// Columns: {name, title, number, show}. Lines: objects with a value for each name.
function table(place, label, caption, columns, lines) {
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label });
  const element = make("table");
  if (caption) {
    element.append(make("caption"));
    element.caption.append(make("span", {}, caption));  // it stays in place when lines scroll
  }
  const names = make("tr"), body = make("tbody");
  const heads = columns.map((column) => {
    const head = make("th", { scope: "col", ...(column.number && { class: "number" }) });
    const button = make("button", { type: "button" }, column.title ?? column.name);
    button.addEventListener("click", () => sort(column, head));
    head.append(button);
    names.append(head);
    return head;
  });

  function sort(column, head) {
    const isAscending = head.getAttribute("aria-sort") === "ascending";
    apply({ name: column.name, direction: isAscending ? "descending" : "ascending" });
  }

  // The order is kept when the lines change, for example by a filter.
  function apply(order) {
    place.order = order;
    heads.forEach((head, number) => {
      if (columns[number].name === order.name) head.setAttribute("aria-sort", order.direction);
      else head.removeAttribute("aria-sort");
    });
    fill([...lines].sort((a, b) => compare(a[order.name], b[order.name], order.direction)));
  }

  function fill(ordered) {
    body.replaceChildren(...ordered.map((line) => row(columns, line)));
  }

  fill(lines);
  if (columns.some((column) => column.name === place.order?.name)) apply(place.order);
  element.append(make("thead"), body);
  element.tHead.append(names);
  scroll.append(element);
  place.replaceChildren(scroll);
}

// Missing values come last in both directions.
function compare(a, b, direction) {
  if (a == null || b == null) return (a == null) - (b == null);
  const areNumbers = typeof a === "number" && typeof b === "number";
  const order = areNumbers ? (a > b) - (a < b) : readable.compare(a, b);
  return direction === "ascending" ? order : -order;
}

function row(columns, line) {
  const element = make("tr", line.best ? { class: "best" } : {});
  columns.forEach((column, place) => {
    const value = line[column.name];
    const text = value == null ? "–" : column.show ? column.show(value, line) : String(value);
    const kind = place === 0 ? ["th", { scope: "row" }] : ["td", column.number ? { class: "number" } : {}];
    const cell = make(kind[0], kind[1], text);
    if (typeof value === "number") cell.dataset.value = value;
    element.append(cell);
  });
  return element;
}

function make(tag, attributes = {}, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Format a number with a few digits.
function short(value, digits = 4) {
  const size = Math.abs(value);
  if (value !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}
