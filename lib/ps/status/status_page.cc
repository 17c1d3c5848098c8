#include "config/json.h"
#include "ps/status/status_service.h"

namespace ps {

// The page sets the figures of a server, or of a trainer, as text, so that no name in a job can be taken for
// markup.
const char* const kStatusPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pskit</title>
<style>
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
figure { display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top; }
figcaption { font-size: .9rem; }
figcaption span { margin-right: .8rem; white-space: nowrap; }
svg { display: block; width: 30rem; max-width: 100%; height: auto; }
svg text { font-size: 11px; fill: currentColor; }
.late { color: #c33; font-weight: bold; }
</style>
</head>
<body>
<h1 id="job">pskit</h1>
<p id="state" role="status">waiting for an answer</p>
<p id="exposure"></p>
<p id="missing" class="late"></p>
<section id="run" hidden>
<h2>Curves</h2>
<svg id="blank" width="0" height="0"></svg>
<div id="curves"></div>
</section>
<section id="server" hidden>
<h2>Trainers</h2>
<table id="trainers"><thead><tr><th>rank<th>clock<th>lag<th>connections</tr></thead><tbody></tbody></table>
<h2>Shards</h2>
<table id="shards"><thead><tr><th>port<th>clock<th>rows<th>tables<th>messages<th>pulls/s<th>pushes/s<th>connections</tr>
</thead><tbody></tbody></table>
<h2>Tables</h2>
<table id="tables"><thead><tr><th>name<th>kind<th>rows<th>memory</tr></thead><tbody></tbody></table>
</section>
<script>
"use strict";
const kPeriod = 1000, kLateSeconds = 5;
const at = id => document.getElementById(id);
const count = n => n.toLocaleString("en");
const rate = n => n < 10 ? n.toFixed(1) : count(Math.round(n));
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit + 1 < units.length) { n /= 1024; ++unit; }
  return (unit === 0 ? n : n < 99.95 ? n.toPrecision(3) : Math.round(n)) + " " + units[unit];
}
// rows: lists of cells; late: whether a row is shown as such.
function fill(id, rows, late = () => false) {
  at(id).tBodies[0].replaceChildren(...rows.map((cells, i) => {
    const row = document.createElement("tr");
    row.className = late(i) ? "late" : "";
    row.append(...cells.map(text => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }));
    return row;
  }));
}
// The items of all shards by key, joined where several shards have one.
function merged(shards, list, key, join) {
  const all = new Map();
  for (const item of shards.flatMap(shard => shard[list])) {
    const known = all.get(item[key]);
    all.set(item[key], known ? join(known, item) : item);
  }
  return [...all.values()].sort((a, b) => String(a[key]).localeCompare(b[key], "en", {numeric: true}));
}
const kPanels = ["cost", "evaluators", "learning rate", "throughput"];
const kColours = ["#3a7bd5", "#d9733b", "#3b9c5c", "#a550c4", "#b59300", "#c43c5e", "#2b9aa0", "#80664d"];
const least = (values, first) => values.reduce((a, b) => Math.min(a, b), first);
const most = (values, first) => values.reduce((a, b) => Math.max(a, b), first);
const label = n => Math.abs(n) >= 1000 ? count(Math.round(n)) : String(Number(n.toPrecision(3)));
// An element of an SVG picture: the empty one of the page knows their namespace.
function shape(kind, attributes, text) {
  const element = document.createElementNS(at("blank").namespaceURI, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
// The curves of a panel, from 0 to `end` examples.  Rates and throughput begin at 0, other values at the least.
function draw(panel, curves, end) {
  const width = 480, height = 220, left = 64, right = 8, top = 8, bottom = 22;
  const values = curves.flatMap(curve => curve.points.map(point => point[1]));
  let low = least(values, panel === "learning rate" || panel === "throughput" ? 0 : Infinity);
  let high = most(values, low);
  if (low === high) { low -= Math.abs(low) / 10; high += Math.abs(high) / 10 || 1; }
  const x = examples => left + (width - left - right) * examples / (end || 1);
  const y = value => height - bottom - (height - top - bottom) * (value - low) / (high - low);
  const picture = shape("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": panel});
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(shape("line", {x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: "#8886"}),
      shape("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, label(value)));
  }
  picture.append(shape("text", {x: left, y: height - 6}, "0"),
    shape("text", {x: width - right, y: height - 6, "text-anchor": "end"}, count(end) + " examples"));
  const figure = document.createElement("figure"), names = document.createElement("figcaption");
  curves.forEach((curve, i) => {
    const colour = kColours[i % kColours.length];
    const places = curve.points.map(([examples, value]) => [x(examples).toFixed(1), y(value).toFixed(1)]);
    if (curve.joined) picture.append(shape("polyline", {points: places.join(" "), fill: "none", stroke: colour}));
    if (!curve.joined || places.length === 1)
      for (const [cx, cy] of places) picture.append(shape("circle", {cx, cy, r: 3, fill: colour}));
    const name = document.createElement("span");
    name.style.color = colour;
    name.textContent = `${curve.joined ? "—" : "●"} ${curve.name} ${label(curve.points.at(-1)[1])}`;
    names.append(name);
  });
  const heading = document.createElement("strong");
  heading.textContent = panel;
  figure.append(heading, picture, names);
  figure.dataset.panel = panel;
  return figure;
}
function showRun(status) {
  document.title = status.job + " · ps-train";
  at("state").textContent = (status.trainers > 1 ? `trainer ${status.rank} of ${status.trainers} · ` : "") +
    `up ${Math.round(status.uptime_seconds)} s · ${bytes(status.memory_bytes)} resident · ` +
    `pass ${status.pass} · ${count(status.trained)} examples trained on`;
  const panels = kPanels.map(panel => [panel, status.curves.filter(curve => curve.panel === panel)]);
  at("curves").replaceChildren(...panels.filter(([, curves]) => curves.length > 0)
    .map(([panel, curves]) => draw(panel, curves, status.trained)));
}
function show(status) {
  at("job").textContent = status.job;
  at("state").className = "";
  at("run").hidden = !status.curves;
  at("server").hidden = !status.shards;
  const refused = status.status_refused + (status.shards || []).reduce((all, shard) => all + shard.peers_refused, 0);
  at("exposure").textContent = status.exposure + (refused ? ` · ${count(refused)} peers refused` : "");
  at("missing").textContent = (status.missing_servers || [])
    .map(server => `${server.message}, for ${Math.round(server.seconds)} s`).join(" · ");
  at("exposure").className = status.exposure.startsWith("insecure") ? "late" : "";
  (status.curves ? showRun : showServer)(status);
}
function showServer(status) {
  const shards = status.shards;
  const sum = key => shards.reduce((total, shard) => total + shard[key], 0);
  document.title = status.job + " · ps-serve";
  at("state").textContent = `up ${Math.round(status.uptime_seconds)} s · ${bytes(status.memory_bytes)} resident, ` +
    `${bytes(status.memory_limit_bytes)} allowed · ` +
    `${count(sum("rows"))} rows · ${rate(sum("pulls_per_second"))} pulls/s · ${rate(sum("pushes_per_second"))} pushes/s`;
  fill("shards", shards.map(s => [s.port, count(s.clock), count(s.rows), bytes(s.table_bytes), bytes(s.message_bytes),
    rate(s.pulls_per_second), rate(s.pushes_per_second), s.connections]), i => shards[i].age_seconds > kLateSeconds);
  fill("tables", merged(shards, "tables", "name", (a, b) => ({...a, rows: a.rows + b.rows, bytes: a.bytes + b.bytes}))
    .map(t => [t.name, t.sparse ? "sparse" : "dense", count(t.rows), bytes(t.bytes)]));
  const trainers = merged(shards, "trainers", "rank", (a, b) => ({rank: a.rank, clock: Math.min(a.clock, b.clock),
    lag: Math.max(a.lag, b.lag), connections: a.connections + b.connections}));
  fill("trainers", trainers.map(t => [t.rank, count(t.clock), count(t.lag), t.connections || "gone"]),
    i => trainers[i].connections === 0);
}
let updates = 0;
async function update() {
  try {
    const answer = await fetch("status.json", {signal: AbortSignal.timeout(5 * kPeriod)});
    show(await answer.json());
    document.body.dataset.updates = ++updates;
  } catch (error) {
    at("state").textContent = "no answer: " + error.message;
    at("state").className = "late";
  }
  setTimeout(update, kPeriod);
}
update();
</script>
</body>
</html>
)html";

}  // namespace ps
