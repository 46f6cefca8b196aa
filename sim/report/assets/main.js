"use strict";
async function unpack() {
  const packed = atob(document.getElementById("data").textContent.trim());
  const bytes = Uint8Array.from(packed, c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
function drawAll(data) {
  const t = theme();
  for (const [name, draw] of Object.entries(DRAW)) if (data[name]) draw(data[name], t, data.names);
}
unpack().then(data => {
  for (const id of ["trial-reliability", "trial-skew"]) {
    const box = document.getElementById(id);
    if (box) box.addEventListener("change", () => drawAll(data));
  }
  if (data.sweep) startSweep(data.sweep);
  drawAll(data);
  if (data.explorer) startExplorer(data.explorer);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(data));
  let was = narrow();
  addEventListener("resize", () => { if (was !== narrow()) { was = narrow(); drawAll(data); } });
  document.documentElement.dataset.ready = "yes";
}).catch(error => {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = "The figures could not be drawn: " + error;
  document.getElementById("main").prepend(note);
  console.error(error);
});
