// A chart of one metric of an experiment: a panel for each setting, drawn by Vega-Lite.

const NARROWEST = 240, WIDEST = 440, HIGH = 190, AXIS = 70, LETTER = 6.5;

function chart(place, experiment, metric, rows, algorithms) {
  const panels = [...new Set(rows.map((row) => row.panel))];
  const drawn = algorithms.filter((each) => rows.some((row) => row.algorithm === each.name));
  // The names of algorithms are left of the dots, once for all panels of a row.
  const names = experiment.x ? 0 : LETTER * Math.max(...drawn.map((each) => each.label.length));
  const width = place.clientWidth - 20 - names;
  const across = Math.min(Math.max(1, Math.floor(width / (NARROWEST + AXIS))), panels.length);
  const panelWidth = Math.max(140, Math.min(WIDEST, Math.floor(width / across) - AXIS));
  const colour = {
    field: "label", type: "nominal", legend: null,
    scale: { domain: drawn.map((each) => each.label), range: drawn.map((each) => each.colour) },
  };
  const isLogarithmic = isWide(rows.map((row) => row.mean));
  const along = experiment.x ? line(experiment, rows, isLogarithmic) : dots(drawn, isLogarithmic);
  const spec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    description: describe(experiment, metric, panels, drawn),
    data: { values: isLogarithmic ? rows.map(aboveZero) : rows },
    facet: { field: "panel", type: "nominal", sort: panels, header: { title: null, labelFontSize: 12, labelLimit: panelWidth + names + AXIS / 2 } },
    columns: across,
    spec: {
      width: panelWidth,
      height: experiment.x ? HIGH : Math.max(60, 17 * drawn.length),
      layer: along.layers(colour, drawn),
    },
    resolve: { scale: { x: experiment.x ? "shared" : "independent", y: experiment.x ? "independent" : "shared" } },
    config: { background: "white", axis: { labelFontSize: 11, titleFontSize: 11 } },
  };
  return vegaEmbed(place, spec, { renderer: "svg", actions: false });
}

function describe(experiment, metric, panels, drawn) {
  const along = experiment.x ? ` against ${experiment.xLabel}` : "";
  return `${metric.label}${along}, mean and standard error, for ${drawn.map((each) => each.label).join(", ")};`
    + ` ${panels.length} panels: ${panels.join("; ")}. The table below has the values.`;
}

// A logarithmic axis cannot show values that are not positive.
function aboveZero(row) {
  return row.mean > 0 && row.low <= 0 ? { ...row, low: row.mean / 2 } : row;
}

function isWide(values) {
  values = values.filter((value) => value !== null);
  const positive = values.every((value) => value > 0);
  return positive && Math.max(...values) > 4 * Math.min(...values);
}

const TOOLTIP = [
  { field: "label", title: "algorithm" },
  { field: "panel", title: "setting" },
  { field: "shownMean", title: "mean" },
  { field: "shownError", title: "standard error" },
  { field: "n", title: "seeds" },
];

function shapes(drawn) {
  return {
    field: "label", type: "nominal", legend: null,
    scale: { domain: drawn.map((each) => each.label), range: drawn.map((each) => each.shape) },
  };
}

function line(experiment, rows, logarithmic) {
  const steps = rows.map((row) => row.x);
  const x = {
    field: "x", type: "quantitative", title: experiment.xLabel,
    scale: isWide(steps) ? { type: "log", nice: false } : { zero: false }, axis: { tickCount: 4, format: "~s", grid: false },
  };
  const scale = logarithmic ? { type: "log" } : { zero: false };
  const axis = { tickCount: 4, ...(logarithmic ? {} : { format: "~g" }) };
  const y = { field: "mean", type: "quantitative", title: null, scale, axis };
  const tooltip = [TOOLTIP[0], TOOLTIP[1], { field: "x", title: experiment.xLabel }, ...TOOLTIP.slice(2)];
  return {
    layers: (color, drawn) => [
      { mark: { type: "rule", aria: false }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color } },
      {
        mark: { type: "line", strokeWidth: 1.6, aria: false, invalid: "break-paths-filter-domains" },
        encoding: { x, y, color, strokeDash: { field: "dash", type: "nominal", legend: null,
          scale: { domain: ["-", "--", ":"], range: [[1, 0], [5, 3], [2, 2]] } } },
      },
      {
        mark: { type: "point", filled: true, size: 45, opacity: 1, strokeWidth: 1.2 },
        encoding: { x, y, color, stroke: color, shape: shapes(drawn), tooltip },
      },
    ],
  };
}

function dots(drawn, logarithmic) {
  const scale = logarithmic ? { type: "log" } : { zero: false };
  const x = { field: "mean", type: "quantitative", title: null, scale, axis: { tickCount: 4 } };
  const y = { field: "label", type: "nominal", title: null, sort: drawn.map((each) => each.label) };
  return {
    layers: (color) => [
      { mark: { type: "rule", aria: false }, encoding: { y, x: { ...x, field: "low" }, x2: { field: "high" }, color } },
      {
        mark: { type: "point", filled: true, size: 55, opacity: 1, strokeWidth: 1.2 },
        encoding: { x, y, color, stroke: color, shape: shapes(drawn), tooltip: TOOLTIP },
      },
    ],
  };
}

function legend(drawn) {
  const list = make("ul", { class: "legend", "aria-label": "Algorithms" });
  for (const each of drawn) {
    const entry = make("li");
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("viewBox", "-3 -1.4 6 2.8");
    picture.setAttribute("aria-hidden", "true");
    const dash = { "--": "0.8 0.5", ":": "0.3 0.4" }[each.line] ?? "none";
    picture.innerHTML = `<path d="M-3,0H3" stroke-width="0.3" stroke-dasharray="${dash}"/><path stroke-width="0.25"/>`;
    const [rule, marker] = picture.children;
    marker.setAttribute("d", each.shape);
    marker.setAttribute("fill", each.colour);
    for (const part of [rule, marker]) part.setAttribute("stroke", each.colour);
    entry.append(picture, each.label);
    list.append(entry);
  }
  return list;
}
