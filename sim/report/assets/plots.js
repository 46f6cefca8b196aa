"use strict";
// Every figure is a function of the data and the theme, drawn again when the colour scheme or the width changes.
const narrow = () => window.innerWidth < 760;
const percent = v => v === null || v === undefined ? "–" : (100 * v).toFixed(1) + " %";
function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = name => style.getPropertyValue("--" + name).trim();
  return { ground: get("ground"), raised: get("raised"), ink: get("ink"), soft: get("soft"), line: get("line"),
    benign: get("benign"), malicious: get("malicious"), neutral: get("neutral"), accent: get("accent") };
}
const SYMBOLS = { benign: "circle", malicious: "x", neutral: "diamond-open" };
function axis(t, extra) {
  return Object.assign({ gridcolor: t.line, zerolinecolor: t.line, linecolor: t.line, automargin: true,
    tickfont: { color: t.ink }, fixedrange: true }, extra);
}
function layout(t, extra) {
  return Object.assign({ paper_bgcolor: t.ground, plot_bgcolor: t.ground, font: { color: t.ink, size: 13,
    family: 'system-ui, "DejaVu Sans", sans-serif' }, margin: { l: 12, r: 14, t: 14, b: 40 },
    hoverlabel: { bgcolor: t.raised, bordercolor: t.line, font: { color: t.ink } }, dragmode: false,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { color: t.ink } } }, extra);
}
const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
function blues(t) { return [[0, t.ground], [1, t.benign]]; }
function shorten(text, n) { return text.length > n ? text.slice(0, n - 1) + "…" : text; }
function show(id, traces, lay, told) {
  const box = document.getElementById(id);
  if (!box) return;
  box.style.height = lay.height + "px";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", told);
  Plotly.react(box, traces, lay, CONFIG);
}
const DRAW = {};

DRAW.headline = (rows, t, names) => {
  const slim = narrow(), keys = Object.keys(names), n = keys.length, gap = slim ? 0.06 : 0.03;
  const span = (1 - gap * (n - 1)) / n, tall = rows.length * 26 + 60;
  const lay = layout(t, { showlegend: false, height: slim ? n * tall : rows.length * 34 + 90, annotations: [] });
  const titles = rows.map(r => slim ? shorten(r.title, 17) : r.title);
  const traces = keys.map((key, i) => {
    const k = i ? i + 1 : "", y = slim ? k : "", some = rows.map((r, j) => [r[key], j]).filter(([f]) => f.value !== null);
    const domain = slim ? [1 - (i + 1) * span - i * gap + 0.012, 1 - i * (span + gap) - 0.03] : [0, 1];
    lay["xaxis" + k] = axis(t, { range: [-4, 104], ticksuffix: "%", nticks: 5, tickangle: 0, anchor: "y" + y,
      tickvals: [0, 50, 100], domain: slim ? [0, 1] : [i * (span + gap), i * (span + gap) + span] });
    if (slim || !i) lay["yaxis" + y] = axis(t, { domain: domain, tickvals: titles.map((_, j) => j), ticktext: titles,
      range: [rows.length - 0.5, -0.5], anchor: "x" + k, zeroline: false });
    lay.annotations.push({ text: names[key], xref: slim ? "paper" : "x" + k + " domain", x: slim ? 0 : 0, xanchor: "left",
      yref: slim ? "paper" : "y domain", y: slim ? 1 - i * (span + gap) - 0.004 : 1.02, yanchor: slim ? "middle" : "bottom",
      showarrow: false, font: { size: 13, color: t.ink } });
    return { type: "scatter", mode: "markers", x: some.map(([f]) => 100 * f.value), y: some.map(([, j]) => j),
      xaxis: "x" + k, yaxis: "y" + y, marker: { size: 11, color: t.accent, symbol: some.map(([, j]) => j == rows.length - 1 ? "diamond" : "circle") },
      error_x: { type: "data", symmetric: false, color: t.accent, thickness: 2, width: 4,
        array: some.map(([f]) => f.ci95 ? 100 * (f.ci95[1] - f.value) : 0), arrayminus: some.map(([f]) => f.ci95 ? 100 * (f.value - f.ci95[0]) : 0) },
      text: some.map(([f, j]) => rows[j].title + "<br>" + names[key] + " " + percent(f.value) + ", n " + f.n), hoverinfo: "text" };
  });
  lay.margin.t = slim ? 10 : 34;
  show("plot-headline", traces, lay, "Headline figures of every arm with 95 % intervals; the table below has the numbers.");
};

DRAW.tradeoff = (rows, t) => {
  const some = rows.filter(r => r.asr.value !== null && r.accuracy.value !== null);
  const marks = ["circle", "square", "diamond", "triangle-up", "star"];
  const bars = (list, key) => ({ type: "data", symmetric: false, thickness: 1.5, width: 4,
    array: list.map(r => r[key].ci95 ? 100 * (r[key].ci95[1] - r[key].value) : 0),
    arrayminus: list.map(r => r[key].ci95 ? 100 * (r[key].value - r[key].ci95[0]) : 0) });
  const colours = [t.neutral, t.malicious, t.benign, t.accent, t.ink];
  const traces = some.map((r, i) => ({ type: "scatter", mode: "markers", name: r.title, x: [100 * r.accuracy.value],
    y: [100 * r.asr.value], marker: { size: 14, symbol: marks[i % 5], color: colours[i % 5] },
    error_x: Object.assign({ color: colours[i % 5] }, bars([r], "accuracy")),
    error_y: Object.assign({ color: colours[i % 5] }, bars([r], "asr")) }));
  show("plot-tradeoff", traces, layout(t, { height: 400,
    xaxis: axis(t, { title: { text: "accuracy (%) → better" }, range: [-4, 104] }),
    yaxis: axis(t, { title: { text: "attack success (%) → worse" }, range: [-4, 104] }) }),
    "Attack success against accuracy: " + some.map(r => r.title + " " + percent(r.asr.value) + " at " + percent(r.accuracy.value)).join("; "));
};

DRAW.reliability = (trials, t) => {
  const one = trials[chosen("trial-reliability")], seen = {};
  const traces = one.sources.map(s => {
    const kind = s.malicious ? "malicious" : "benign", first = !seen[kind];
    seen[kind] = true;
    return { type: "scatter", mode: one.rounds.length < 40 ? "lines+markers" : "lines", x: one.rounds, y: s.values, name: kind + " source",
      legendgroup: kind, showlegend: first, line: { color: t[kind], dash: s.malicious ? "dash" : "solid", width: 2 },
      marker: { size: 5, symbol: SYMBOLS[kind] }, text: s.id, hovertemplate: s.id + ": %{y:.3f} after round %{x}<extra></extra>" };
  });
  show("plot-reliability", traces, layout(t, { height: 380, xaxis: axis(t, { title: { text: "round" } }),
    yaxis: axis(t, { title: { text: "reliability" }, range: [-0.03, 1.03] }) }),
    "Reliability of " + one.sources.length + " sources over " + one.rounds.length + " rounds, malicious ones dashed.");
};

DRAW.confusion = (table, t) => {
  const labels = Object.keys(table).filter(l => table[l].kept + table[l].rejected > 0).reverse();
  const share = labels.map(l => ["kept", "rejected"].map(c => table[l][c] / (table[l].kept + table[l].rejected)));
  const notes = labels.flatMap((l, i) => ["kept", "rejected"].map((c, j) => ({ x: c, y: l, showarrow: false,
    text: table[l][c] + "<br>" + percent(share[i][j]), font: { size: 15, color: share[i][j] > 0.5 ? t.ground : t.ink } })));
  show("plot-confusion", [{ type: "heatmap", x: ["kept", "rejected"], y: labels, z: share, zmin: 0, zmax: 1, hoverinfo: "skip", colorscale: blues(t), showscale: false, xgap: 3, ygap: 3 }],
    layout(t, { height: 300, annotations: notes, xaxis: axis(t, { type: "category" }), yaxis: axis(t, { type: "category" }) }),
    "Documents kept and rejected: " + labels.map(l => l + " " + table[l].kept + " kept, " + table[l].rejected + " rejected").join("; "));
};

DRAW.calibration = (bins, t) => {
  show("plot-calibration", [
    { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: t.soft, dash: "dot" }, name: "perfect", hoverinfo: "skip" },
    { type: "scatter", mode: "lines+markers", x: bins.credibility, y: bins.benign, name: "measured", marker: { size: 9, color: t.benign }, line: { color: t.benign },
      text: bins.count, hovertemplate: "credibility %{x:.2f}: %{y:.1%} benign of %{text}<extra></extra>" },
    { type: "bar", x: bins.credibility, y: bins.count, yaxis: "y2", width: 0.06, marker: { color: t.neutral }, name: "documents", hovertemplate: "%{y} documents<extra></extra>" }],
    layout(t, { height: 380, xaxis: axis(t, { title: { text: "credibility given" }, range: [-0.05, 1.05], anchor: "y2" }),
      yaxis: axis(t, { title: { text: "share benign" }, domain: [0.36, 1], range: [-0.05, 1.05] }),
      yaxis2: axis(t, { title: { text: "count" }, domain: [0, 0.26], type: "log", dtick: 1 }) }),
    "Calibration of the credibility in " + bins.count.length + " bins.");
};

DRAW.latency = (steps, t) => {
  const names = Object.keys(steps).reverse(), col = i => names.map(n => steps[n][i]);
  show("plot-latency", [{ type: "box", orientation: "h", y: names, lowerfence: col(0), q1: col(1), median: col(2), q3: col(3), upperfence: col(4),
    marker: { color: t.benign }, line: { color: t.benign }, fillcolor: t.raised, hoverinfo: "x", name: "" }],
    layout(t, { height: 90 + 48 * names.length, showlegend: false, xaxis: axis(t, { title: { text: "milliseconds (log)" }, type: "log" }),
      yaxis: axis(t, { type: "category" }) }), "Milliseconds of each step: " + names.map(n => n + " median " + steps[n][2].toFixed(1)).join("; "));
};

DRAW.skew = (trials, t) => {
  const one = trials[chosen("trial-skew")], slim = narrow();
  const mark = one.sources.map((s, i) => (one.malicious[i] ? "✕ " : "") + s);
  show("plot-skew", [{ type: "heatmap", z: one.counts, x: one.categories.map(c => shorten(c, slim ? 12 : 22)), y: mark, colorscale: blues(t), xgap: 1, ygap: 1,
    colorbar: slim ? undefined : { title: { text: "documents" }, tickfont: { color: t.ink } }, showscale: !slim,
    hovertemplate: "%{y}, %{x}: %{z} documents<extra></extra>" }],
    layout(t, { height: 130 + Math.min(900, 26 * mark.length) + (slim ? 40 : 0), xaxis: axis(t, { type: "category", tickangle: -45 }),
      yaxis: axis(t, { type: "category", autorange: "reversed" }) }),
    "Documents of " + mark.length + " sources in " + one.categories.length + " categories; mean divergence " + one.divergence);
};

DRAW.projection = (p, t) => {
  for (const [id, after] of [["plot-before", false], ["plot-after", true]]) {
    const traces = ["benign", "neutral", "malicious"].map(label => {
      const rows = p.label.map((l, i) => i).filter(i => p.label[i] === label && (!after || p.kept[i]));
      return { type: "scatter", mode: "markers", name: label + " (" + rows.length + ")", x: rows.map(i => p.x[i]), y: rows.map(i => p.y[i]),
        text: rows.map(i => wrap(p.text[i], 48)), hovertemplate: "%{text}<extra>" + label + "</extra>",
        marker: { color: t[label], symbol: SYMBOLS[label], size: label === "malicious" ? 8 : 6, opacity: 0.8 } };
    }).filter(trace => trace.x.length);
    const flat = { showticklabels: false, zeroline: false, showgrid: false, showline: true, mirror: true };
    show(id, traces, layout(t, { height: 400, showlegend: true, margin: { l: 8, r: 8, t: 40, b: 8 },
      xaxis: axis(t, Object.assign({}, flat, { range: bounds(p.x) })), yaxis: axis(t, Object.assign({}, flat, { range: bounds(p.y) })) }),
      (after ? "After" : "Before") + " verification: " + traces.map(trace => trace.name).join(", "));
  }
};
function bounds(values) { const low = Math.min(...values), high = Math.max(...values), rim = 0.05 * (high - low) + 0.1; return [low - rim, high + rim]; }
function wrap(text, n) {
  const lines = [""];
  for (const word of text.replace(/&/g, "&amp;").replace(/</g, "&lt;").split(/\s+/)) {
    if ((lines[lines.length - 1] + word).length > n) lines.push("");
    lines[lines.length - 1] += word + " ";
  }
  return lines.join("<br>");
}
function chosen(id) { const box = document.getElementById(id); return box ? Number(box.value) : 0; }
