"use strict";
// The round explorer: a list of questions, the verification graph of the chosen one, and a document's trail.
const SVG = "http://www.w3.org/2000/svg";
const OUTCOMES = { right: "answered right", poisoned: "attack succeeded", wrong: "answered wrong", abstained: "no answer",
  refused: "refused", unjudged: "not judged" };
const byId = id => document.getElementById(id);
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
const figure = (v, n) => v === null || v === undefined ? "–" : v.toFixed(n === undefined ? 3 : n);
const yes = v => v === null || v === undefined ? "" : v ? " · right" : " · not right";

function startExplorer(E) {
  let at = 0, picked = 0;
  const label = r => "#" + (r.index + 1) + (r.trial || E.trials > 1 ? " (trial " + (r.trial + 1) + ")" : "") + " " + r.query;
  const list = byId("round-list"), search = byId("round-search"), kind = byId("round-kind");
  const found = [...new Set(E.rounds.map(r => r.outcome))];
  for (const o of Object.keys(OUTCOMES)) if (found.includes(o)) kind.append(make("option", { value: o }, OUTCOMES[o]));

  function fill() {
    const words = search.value.toLowerCase(), wanted = kind.value;
    list.replaceChildren();
    E.rounds.forEach((r, i) => {
      if (wanted && r.outcome !== wanted || words && !label(r).toLowerCase().includes(words)) return;
      list.append(make("option", { value: i }, label(r) + " — " + OUTCOMES[r.outcome]));
    });
    if (list.options.length) {
      const same = [...list.options].findIndex(o => Number(o.value) === at);
      list.selectedIndex = same < 0 ? 0 : same;
      go(Number(list.value));
    } else byId("round-none").hidden = false;
    byId("round-none").hidden = list.options.length > 0;
  }
  function step(by) {
    const next = list.selectedIndex + by;
    if (next >= 0 && next < list.options.length) { list.selectedIndex = next; go(Number(list.value)); }
  }
  search.addEventListener("input", fill);
  kind.addEventListener("change", fill);
  list.addEventListener("change", () => go(Number(list.value)));
  byId("round-back").addEventListener("click", () => step(-1));
  byId("round-next").addEventListener("click", () => step(1));

  function go(i) {
    at = i;
    const r = E.rounds[i];
    byId("round-title").textContent = label(r);
    answers(r);
    const first = r.documents.findIndex(d => E.labels[d[3]] === "malicious");
    picked = Math.max(0, first);
    graph(r);
    table(r);
    detail(r);
  }

  function answers(r) {
    const box = byId("round-answers");
    const cell = (head, text) => make("div", {}, make("b", {}, head), text || "(none)");
    const rows = [cell("Expected", r.answers.join(" / "))];
    if (r.target) rows.push(cell(r.attacked ? "Pushed by the attack" : "Would be pushed", r.target));
    if (r.before) rows.push(cell("Before: undefended" + yes(r.before[1]) + (r.before[2] ? " · the attack's" : ""), r.before[0]));
    rows.push(cell("After: this run" + yes(r.after[0]) + (r.after[1] ? " · the attack's" : ""), r.answer));
    box.replaceChildren(...rows);
    const notes = [...r.failures.map(([s, k]) => E.sources[s] + ": " + k), ...Object.entries(r.errors).map(([s, e]) => "stage " + s + ": " + e),
      ...r.warnings, ...r.plan];
    byId("round-notes").textContent = notes.join("; ");
  }

  function nodes(r) {
    // Sources on a ring, their documents in a fan inside it; a document of several sources stands between them.
    const names = [...new Set([...r.reliability.map(x => x[0]), ...r.documents.map(d => d[0])])];
    const size = 800, middle = size / 2, angle = {}, held = {}, copies = new Map();
    names.forEach((s, i) => { angle[s] = 2 * Math.PI * i / names.length - Math.PI / 2; held[s] = []; });
    r.documents.forEach((d, i) => {
      const key = d[2] < 0 ? "d" + i : "t" + d[2];
      if (!copies.has(key)) copies.set(key, []);
      copies.get(key).push(i);
    });
    const docs = [], place = {};
    for (const group of copies.values()) {
      const owners = [...new Set(group.map(i => r.documents[i][0]))];
      const node = { i: group[0], owners: owners };
      group.forEach(i => { place[i] = node; });
      if (owners.length === 1) held[owners[0]].push(node);
      docs.push(node);
    }
    const slice = 2 * Math.PI / names.length;
    for (const s of names) held[s].forEach((node, k) => {
      const n = held[s].length, fan = n === 1 ? 0 : (k / (n - 1) - 0.5) * slice * 0.8;
      const depth = 235 - (k % 2) * 45;
      node.x = middle + depth * Math.cos(angle[s] + fan); node.y = middle + depth * Math.sin(angle[s] + fan);
    });
    docs.filter(d => d.owners.length > 1).forEach((node, k) => {
      const x = node.owners.reduce((a, s) => a + Math.cos(angle[s]), 0), y = node.owners.reduce((a, s) => a + Math.sin(angle[s]), 0);
      const turn = Math.atan2(y, x) + 0.13 * ((k % 5) - 2), depth = 90 + 28 * (k % 3);
      node.x = middle + depth * Math.cos(turn); node.y = middle + depth * Math.sin(turn);
    });
    return { names: names, angle: angle, docs: docs, place: place, size: size, middle: middle };
  }

  function shape(label, radius) {
    if (label === "malicious") return draw("path", { d: `M0 ${-radius * 1.25}L${radius * 1.15} ${radius * 0.85}H${-radius * 1.15}Z` });
    if (label === "neutral") return draw("path", { d: `M0 ${-radius * 1.25}L${radius * 1.25} 0L0 ${radius * 1.25}L${-radius * 1.25} 0Z` });
    return draw("circle", { r: radius });
  }

  function graph(r) {
    const svg = byId("graph"), G = nodes(r), bad = new Set(r.malicious), radius = G.docs.length > 120 ? 7 : narrow() ? 17 : 12;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${G.size} ${G.size}`);
    const edges = draw("g", { "aria-hidden": "true" });
    svg.append(edges);
    const at = s => [G.middle + 335 * Math.cos(G.angle[s]), G.middle + 335 * Math.sin(G.angle[s])];
    for (const d of G.docs) for (const s of d.owners) {
      const [x, y] = at(s);
      edges.append(draw("line", { class: "edge hold", "data-a": d.i, "data-b": d.i, x1: x, y1: y, x2: d.x, y2: d.y }));
    }
    for (const [i, j, agree, conflict] of r.edges) {
      const a = G.place[i], b = G.place[j];
      for (const [name, strength, bow] of [["agree", agree, 1], ["conflict", conflict, -1]]) {
        if (strength < 0.05 || a === b) continue;
        const mx = (a.x + b.x) / 2 + bow * (b.y - a.y) * 0.06, my = (a.y + b.y) / 2 - bow * (b.x - a.x) * 0.06;
        edges.append(draw("path", { class: "edge " + name, "data-a": a.i, "data-b": b.i, "stroke-width": (0.6 + 2.4 * strength).toFixed(2),
          "stroke-opacity": (0.25 + 0.6 * strength).toFixed(2), d: `M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${mx.toFixed(1)} ${my.toFixed(1)} ${b.x.toFixed(1)} ${b.y.toFixed(1)}` }));
      }
    }
    for (const s of G.names) {
      const [x, y] = at(s), known = r.reliability.find(v => v[0] === s), side = bad.has(s) ? "malicious" : "benign";
      const g = draw("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
      g.append(draw("rect", { x: -13, y: -13, width: 26, height: 26, rx: 5, fill: `var(--${side})`, "fill-opacity": known ? 0.15 + 0.85 * known[2] : 0.5, stroke: `var(--${side})`, "stroke-width": 2 }));
      if (side === "malicious") g.append(draw("text", { y: 5, "text-anchor": "middle", "font-weight": 700 }, "✕"));
      if (G.names.length <= 40) g.append(draw("text", { y: Math.sin(G.angle[s]) < -0.3 ? -20 : 31, "text-anchor": "middle" }, E.sources[s].replace("source-", "s-")));
      g.append(draw("title", {}, `${E.sources[s]}, ${side}, reliability ${known ? figure(known[1], 2) + " → " + figure(known[2], 2) : "–"}`));
      svg.append(g);
    }
    for (const node of G.docs) {
      const d = r.documents[node.i], label = E.labels[d[3]];
      const told = `Document ${d[1]} of ${node.owners.map(s => E.sources[s]).join(", ")}: ${label}, credibility ${figure(d[7], 2)}, ${d[4] ? "kept" : "rejected"}`;
      const g = draw("g", { class: "node", tabindex: -1, role: "button", "aria-label": told, "data-i": node.i, transform: `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})` });
      const body = shape(label, radius);
      body.setAttribute("fill", d[4] ? `var(--${label})` : "var(--ground)");
      body.setAttribute("fill-opacity", d[4] && d[7] !== null ? (0.25 + 0.75 * d[7]).toFixed(2) : 1);
      body.setAttribute("stroke", `var(--${label})`);
      body.setAttribute("stroke-width", 2.5);
      g.append(draw("circle", { class: "halo", r: radius + 8 }), body, draw("title", {}, told));
      g.addEventListener("click", () => pick(node.i, true));
      g.addEventListener("keydown", event => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (by) {
          const k = G.docs.indexOf(node), next = G.docs[(k + by + G.docs.length) % G.docs.length];
          pick(next.i, true);
        } else if (event.key === "Enter" || event.key === " ") pick(node.i, true);
        else return;
        event.preventDefault();
      });
      svg.append(g);
    }
    svg.setAttribute("aria-label", `Verification graph: ${G.names.length} sources, ${G.docs.length} documents, ${r.edges.length} relations. Arrow keys go from document to document.`);
    byId("edges-none").hidden = r.edges.length > 0;
    const standing = G.place[picked];
    mark(standing ? standing.i : -1, false);
    graph.place = G.place;
  }

  function mark(i, fade) {
    for (const node of byId("graph").querySelectorAll(".node")) {
      const here = Number(node.dataset.i) === i;
      node.classList.toggle("picked", here);
      node.setAttribute("aria-pressed", here);
      node.setAttribute("tabindex", here ? 0 : -1);
    }
    for (const edge of byId("graph").querySelectorAll(".edge")) edge.classList.toggle("faint", fade && Number(edge.dataset.a) !== i && Number(edge.dataset.b) !== i);
  }

  function pick(i, focus) {
    const r = E.rounds[at];
    picked = i;
    const standing = graph.place[i] ? graph.place[i].i : i;
    mark(standing, true);
    detail(r);
    if (focus) {
      const node = byId("graph").querySelector(`[data-i="${standing}"]`);
      if (node) node.focus({ preventScroll: true });
    }
  }

  function detail(r) {
    const box = byId("detail"), d = r.documents[picked];
    if (!d) { box.replaceChildren(make("p", {}, "No source returned a document for this question.")); return; }
    const label = E.labels[d[3]], copies = r.documents.filter(o => d[2] >= 0 && o[2] === d[2]);
    const holders = (copies.length ? copies : [d]).map(o => E.sources[o[0]] + "/" + o[1]).join(", ");
    const tags = make("p", {}, make("span", { class: "tag " + label }, label), make("span", { class: "tag" }, d[4] ? "kept" : "rejected"));
    if (d[8]) tags.append(make("span", { class: "tag" }, "read as no. " + d[8]));
    if (d[9]) tags.append(make("span", { class: "tag" }, "answers the question"));
    const facts = make("p", {}, `Held by ${holders}. Rank ${d[5]}, similarity ${figure(d[6])}, credibility ${figure(d[7])}.`);
    const text = make("blockquote", { tabindex: 0, "aria-label": "Text of the document" }, d[2] < 0 ? "(this run kept no texts)" : E.texts[d[2]]);
    const rows = r.trails[d[10]].map(([stage, action, credibility, reason, evidence]) => {
      const parts = [];
      for (let k = 0; k < evidence.length; k += 2) parts.push(E.fields[evidence[k]] + " " + figure(evidence[k + 1]));
      return make("tr", {}, make("th", { scope: "row" }, E.stages[stage]), make("td", {}, action), make("td", { class: "n" }, figure(credibility)),
        make("td", { class: "why" }, E.reasons[reason] + (parts.length ? ": " + parts.join(", ") : "")));
    });
    const trail = rows.length ? make("div", { class: "scroll" }, make("table", { id: "trail" }, make("thead", {}, make("tr", {}, ...["stage", "verdict", "credibility", "why"].map(h => make("th", { scope: "col" }, h)))), make("tbody", {}, ...rows)))
      : make("p", { id: "trail", class: "note" }, "No stage judged this document.");
    box.replaceChildren(make("h3", {}, "Document " + d[1]), tags, facts, text, make("h3", {}, "Trail through the stages"), trail);
  }

  function table(r) {
    const rows = r.documents.map((d, i) => {
      const open = make("button", { class: "link", type: "button" }, E.sources[d[0]] + "/" + d[1]);
      open.addEventListener("click", () => { pick(i, false); byId("detail").scrollIntoView({ block: "nearest" }); });
      return make("tr", {}, make("td", {}, open), make("td", { class: E.labels[d[3]] }, E.labels[d[3]]), make("td", { class: "n" }, figure(d[7])), make("td", {}, d[4] ? "kept" : "rejected"));
    });
    byId("round-documents").replaceChildren(...rows);
  }
  fill();
}
