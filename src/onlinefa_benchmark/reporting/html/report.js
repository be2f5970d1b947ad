// The page: filters for all experiments, and a chart and tables for each of them.

const data = JSON.parse(document.getElementById("data").textContent);
const looks = Object.fromEntries(data.algorithms.map((each) => [each.name, each]));
const MOST_PANELS = 12;

// The title of an axis in the filters: all titles that experiments have for it.
function axisTitle(name) {
  const all = Object.values(data.experiments).filter((each) => each.titles[name]).map((each) => each.titles[name]);
  return [...new Set(all)].join(" or ") || name;
}

// Hidden values by filter: none at first.
const hidden = Object.fromEntries(["algorithm", ...data.filters].map((name) => [name, new Set()]));

function rowsOf(experiment) {
  const columns = experiment.rows;
  // Panels are named by the settings that differ, or by all settings if none differs.
  const several = experiment.panels.filter((name) => columns[name].levels.length > 1);
  const panels = several.length ? several : experiment.panels;
  const level = (name, place) => columns[name].levels[columns[name].codes[place]];
  const number = (name, place) => columns[name].numbers[columns[name].codes[place]];
  return columns.mean.map((mean, place) => {
    const row = { mean, metric: level("metric", place), algorithm: level("algorithm", place) };
    for (const name of experiment.settings) row[name] = level(name, place);
    for (const name of ["error", "behind", "behindError", "ok", "seeds", "step", "off", "best"]) row[name] = columns[name][place];
    row.statuses = level("statuses", place);
    row.x = experiment.x === "step" ? row.step : experiment.x ? number(experiment.x, place) : 0;
    row.panel = panels.map((name) => `${experiment.titles[name]} ${row[name]}`).join(", ");
    row.label = looks[row.algorithm].label;
    row.dash = looks[row.algorithm].line;
    row.low = mean === null ? null : mean - (row.error ?? 0);
    row.high = mean === null ? null : mean + (row.error ?? 0);
    row.shownMean = mean === null ? "–" : short(mean, 5);
    row.shownError = row.error === null ? "–" : short(row.error, 2);
    row.n = row.ok === row.seeds ? String(row.ok) : `${row.ok} of ${row.seeds} (${row.statuses})`;
    return row;
  });
}

function isShown(row) {
  return Object.entries(hidden).every(([name, values]) => row[name] === undefined || !values.has(row[name]));
}

class Section {
  constructor(element, experiment) {
    this.experiment = experiment;
    this.rows = rowsOf(experiment);
    this.place = element.querySelector(".interactive");
    this.name = element.dataset.experiment;
    this.metric = experiment.metrics[0];
    this.place.append(this.controls());
    this.figure = make("figure");
    this.chart = make("div", { class: "chart" });
    this.caption = make("figcaption");
    this.figure.append(this.chart, this.caption);
    this.values = make("div");
    this.tests = make("div");
    this.place.append(this.figure, make("h3", {}, "Final values"), this.values);
    if (experiment.compared.length) this.place.append(make("h3", {}, "Paired comparisons"), this.tests);
  }

  controls() {
    const box = make("div", { class: "controls" });
    const choice = make("select");
    for (const metric of this.experiment.metrics) choice.append(make("option", { value: metric.name }, metric.label));
    choice.addEventListener("change", () => {
      this.metric = this.experiment.metrics.find((each) => each.name === choice.value);
      this.draw();
    });
    const label = make("label", {}, "Metric ");
    label.append(choice);
    box.append(label);
    if (this.rows.some((row) => row.off)) box.append(this.option("withOff", "values far off the scale"));
    const panels = new Set(this.rows.map((row) => row.panel));
    if (panels.size > MOST_PANELS) box.append(this.option("withAll", `all ${panels.size} panels`));
    return box;
  }

  option(name, what) {
    const box = make("input", { type: "checkbox" });
    box.addEventListener("change", () => { this[name] = box.checked; this.draw(); });
    const label = make("label");
    label.append(box, ` show ${what}`);
    return label;
  }

  draw() {
    const rows = this.rows.filter((row) => row.metric === this.metric.name && isShown(row));
    const valued = rows.filter((row) => row.mean !== null);
    const panels = [...new Set(valued.map((row) => row.panel))];
    const chosen = new Set(this.withAll ? panels : panels.slice(0, MOST_PANELS));
    const inPanels = valued.filter((row) => chosen.has(row.panel));
    const off = this.withOff ? [] : inPanels.filter((row) => row.off);
    this.caption.textContent = valued.length ? this.describe(off.length, panels.length - chosen.size, rows) : "";
    // A line has a gap where there is no value.
    this.drawChart(inPanels.map((row) => (off.includes(row) ? { ...row, mean: null, low: null, high: null } : row)));
    this.drawValues(rows);
    this.drawTests();
  }

  describe(off, panels, rows) {
    const { label, direction } = this.metric;
    const seeds = [...new Set(rows.map((row) => row.seeds))].sort((a, b) => a - b);
    const number = seeds.length > 1 ? `${seeds[0]} to ${seeds.at(-1)}` : seeds[0] ?? 0;
    const more = [
      off ? ` ${off} values are far off the scale and not drawn.` : "",
      panels ? ` ${panels} more panels are not drawn; use the filters to choose panels.` : "",
    ];
    return `${label}: mean and standard error over ${number} seeds; ${direction}.${more.join("")}`;
  }

  drawChart(rows) {
    if (!rows.length) {
      this.chart.replaceChildren(make("p", {}, "The filters hide all values."));
      return;
    }
    const plot = make("div");
    const drawn = data.algorithms.filter((each) => rows.some((row) => row.algorithm === each.name));
    this.chart.replaceChildren(...(this.experiment.x ? [legend(drawn), plot] : [plot]));
    chart(plot, this.experiment, this.metric, rows, data.algorithms);
  }

  drawValues(rows) {
    const last = Math.max(...rows.map((row) => row.step));
    const lines = rows.filter((row) => row.step === last).map((row) => ({ ...row, algorithm: row.label }));
    const columns = [
      ...this.experiment.settings.map((name) => ({ name, title: this.experiment.titles[name] })),
      { name: "algorithm" },
      { name: "mean", number: true, show: (value) => short(value, 5) },
      { name: "error", title: "standard error", number: true, show: (value) => short(value, 2) },
      { name: "ok", title: "seeds", number: true, show: (value, line) => line.n },
      { name: "behind", title: "behind the best", number: true, show: (value, line) =>
        line.behindError === null ? short(value, 3) : `${short(value, 3)} ± ${short(line.behindError, 2)}` },
    ];
    const caption = `${this.metric.label}, ${this.metric.direction}. Bold: the best of a setting, and values behind it by no`
      + " more than one standard error of the paired difference.";
    table(this.values, `${this.name}, final values`, caption, columns, lines);
  }

  drawTests() {
    const found = this.experiment.compared.find((each) => each.metric === this.metric.name);
    if (!found) {
      this.tests.replaceChildren(make("p", {}, "There are no tests by this metric."));
      return;
    }
    const lines = found.lines.filter(isShown).map((line) => ({
      ...line, algorithm: looks[line.algorithm].label,
      seeds_needed: line.seeds_needed === null ? null : Number(line.seeds_needed),
    }));
    const showP = (value) => (value < 0.001 ? "< 0.001" : value.toFixed(3));
    const columns = [
      ...found.settings.map((name) => ({ name, title: this.experiment.titles[name] })),
      { name: "algorithm" },
      { name: "difference", number: true, show: (value) => short(value, 3) },
      { name: "standard_error", title: "standard error", number: true, show: (value) => short(value, 2) },
      { name: "detectable", number: true, show: (value) => short(value, 2) },
      { name: "pairs", number: true, show: (value, line) => (line.lost ? `${value} (${line.lost} lost)` : String(value)) },
      { name: "p_holm", title: "p (Holm)", number: true, show: showP },
      ...(found.overlap ? [{ name: "p_t_holm", title: "corrected t (Holm)", number: true, show: showP }] : []),
      { name: "shown", title: "at 5 %" },
      { name: "seeds_needed", title: "seeds needed", number: true, show: (value, line) =>
        `${value === Infinity ? "> 1000" : value}${value > line.pairs ? " (!)" : ""}` },
    ];
    table(this.tests, `${this.name}, paired comparisons`, found.caption, columns, lines);
  }
}

const sections = [...document.querySelectorAll("section.experiment")]
  .filter((element) => data.experiments[element.dataset.experiment])
  .map((element) => new Section(element, data.experiments[element.dataset.experiment]));

function levelsOf(name) {
  const found = new Set();
  for (const experiment of Object.values(data.experiments)) {
    for (const level of experiment.rows[name]?.levels ?? []) found.add(level);
  }
  const levels = [...found];
  if (name === "algorithm") return data.algorithms.map((each) => each.name).filter((each) => found.has(each));
  return levels.sort(readable.compare);
}

function addFilters() {
  const choices = document.getElementById("choices");
  for (const name of Object.keys(hidden)) {
    const levels = levelsOf(name);
    if (levels.length < 2) continue;
    const group = make("fieldset", { "data-filter": name });
    group.append(make("legend", {}, axisTitle(name)));
    for (const level of levels) group.append(choice(name, level));
    const none = make("button", { type: "button" }, "none");
    none.addEventListener("click", () => {
      group.querySelectorAll("input").forEach((box) => { box.checked = false; hidden[name].add(box.value); });
      redraw();
    });
    group.append(none);
    choices.append(group);
  }
  document.getElementById("reset").addEventListener("click", () => {
    Object.values(hidden).forEach((values) => values.clear());
    choices.querySelectorAll("input").forEach((box) => { box.checked = true; });
    redraw();
  });
}

function choice(name, level) {
  const label = make("label");
  const box = make("input", { type: "checkbox", value: level });
  box.checked = true;
  box.addEventListener("change", () => {
    hidden[name][box.checked ? "delete" : "add"](level);
    redraw();
  });
  label.append(box);
  if (name === "algorithm") {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = looks[level].colour;
    label.append(swatch, looks[level].label);
  } else {
    label.append(` ${level}`);
  }
  return label;
}

function redraw() {
  const number = Object.values(hidden).reduce((sum, values) => sum + values.size, 0);
  document.getElementById("filtered").textContent = number ? `(${number} hidden)` : "";
  sections.forEach((section) => section.draw());
}

function addFacts() {
  const counts = (name) => ({ name, number: true, show: (value) => value.toLocaleString("en") });
  table(document.getElementById("coverage-table"), "Coverage", null, [
    { name: "experiment" }, { name: "algorithm" },
    ...["cells", "ok", "undefined", "diverged", "failed", "missing"].map(counts),
  ], data.coverage);
  const seconds = (name, title) => ({ name, title, number: true, show: (value) => short(value, 3) });
  table(document.getElementById("costs-table"), "Time and memory", null, [
    { name: "experiment" }, { name: "algorithm" }, counts("cells"),
    seconds("median_seconds", "seconds, median"), seconds("longest_seconds", "seconds, longest"),
    seconds("core_hours", "core-hours"), { name: "peak_memory_mb", title: "peak memory (MB)", number: true,
      show: (value) => Math.round(value).toLocaleString("en") },
  ], data.costs);
}

addFilters();
addFacts();
redraw();
let width = window.innerWidth, waiting;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 150);
});
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
