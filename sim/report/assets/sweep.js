"use strict";
// A sweep's cells: any number over any setting, one line for each value of another setting.
function startSweep(S) {
  const number = v => typeof v === "number";
  const fill = (id, names, first) => {
    const box = document.getElementById(id);
    for (const name of names) {
      const option = document.createElement("option");
      option.value = option.textContent = name;
      box.append(option);
    }
    if (first && names.includes(first)) box.value = first;
    box.addEventListener("change", again);
  };
  const again = () => DRAW.sweep(S, theme());
  const varied = S.settings.filter(name => new Set(S.rows.map(r => r[name])).size > 1);
  const axes = varied.length ? varied : S.settings.slice(0, 1);
  fill("sweep-y", S.measures, "asr");
  fill("sweep-x", axes, axes.find(name => S.rows.every(r => number(r[name]))) || axes[0]);
  fill("sweep-by", ["(nothing)", ...axes], axes.find(name => name === "defense") || "(nothing)");
}
const LINES = ["solid", "dash", "dot", "dashdot", "longdash"], MARKS = ["circle", "square", "diamond", "triangle-up", "x", "star"];
DRAW.sweep = (S, t) => {
  const get = id => document.getElementById(id).value, x = get("sweep-x"), y = get("sweep-y"), by = get("sweep-by");
  const hues = [t.benign, t.malicious, t.neutral, t.accent, t.ink, "#cc79a7"], groups = new Map();
  for (const row of S.rows) {
    if (row[y] === null || row[y] === undefined) continue;
    const name = by === "(nothing)" || by === x ? "all cells" : String(row[by]);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  const numeric = S.rows.every(r => typeof r[x] === "number");
  const traces = [...groups].map(([name, rows], i) => {
    if (numeric) rows.sort((a, b) => a[x] - b[x]);
    const twice = new Set(rows.map(r => r[x])).size < rows.length, bars = rows.some(r => typeof r[y + "_low"] === "number");
    return { type: "scatter", mode: twice || !numeric ? "markers" : "lines+markers", name: name, x: rows.map(r => numeric ? r[x] : String(r[x])), y: rows.map(r => r[y]),
      line: { color: hues[i % 6], dash: LINES[i % 5] }, marker: { size: 9, color: hues[i % 6], symbol: MARKS[i % 6] },
      error_y: bars ? { type: "data", symmetric: false, color: hues[i % 6], thickness: 1.2, width: 3, array: rows.map(r => (r[y + "_high"] ?? r[y]) - r[y]), arrayminus: rows.map(r => r[y] - (r[y + "_low"] ?? r[y])) } : undefined,
      text: rows.map(r => S.settings.map(k => k + " " + r[k]).join("<br>")), hovertemplate: "%{y:.3f}<br>%{text}<extra></extra>" };
  });
  show("plot-sweep", traces, layout(t, { height: 460, xaxis: axis(t, { title: { text: x }, type: numeric ? undefined : "category" }), yaxis: axis(t, { title: { text: y } }),
    showlegend: groups.size > 1 }), y + " over " + x + ", " + S.rows.length + " cells");
  const some = S.rows.filter(r => typeof r.asr === "number" && typeof r.accuracy === "number");
  const names = [...new Set(some.map(r => by === "(nothing)" ? "all cells" : String(r[by])))];
  show("plot-sweep-tradeoff", names.map((name, i) => {
    const rows = some.filter(r => by === "(nothing)" || String(r[by]) === name);
    return { type: "scatter", mode: "markers", name: name, x: rows.map(r => r.accuracy), y: rows.map(r => r.asr), marker: { size: 10, color: hues[i % 6], symbol: MARKS[i % 6] },
      text: rows.map(r => S.settings.map(k => k + " " + r[k]).join("<br>")), hovertemplate: "accuracy %{x:.3f}, ASR %{y:.3f}<br>%{text}<extra></extra>" };
  }), layout(t, { height: 460, xaxis: axis(t, { title: { text: "accuracy → better" }, range: [-0.04, 1.04] }), yaxis: axis(t, { title: { text: "ASR → worse" }, range: [-0.04, 1.04] }),
    showlegend: names.length > 1 }), "ASR against accuracy of " + some.length + " cells");
};
