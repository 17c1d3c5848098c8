#include "config/json.h"
#include "ps/status/status_service.h"

namespace ps {

// The server's figures are put in as text, so that no name in a job can be taken for markup.
const char* const kStatusPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ps-serve</title>
<style>
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
.late { color: #c33; font-weight: bold; }
</style>
</head>
<body>
<h1 id="job">ps-serve</h1>
<p id="state" role="status">waiting for the server</p>
<p id="exposure"></p>
<h2>Shards</h2>
<table id="shards"><thead><tr><th>port<th>clock<th>rows<th>tables<th>messages<th>pulls/s<th>pushes/s<th>connections</tr>
</thead><tbody></tbody></table>
<h2>Trainers</h2>
<table id="trainers"><thead><tr><th>rank<th>clock<th>lag<th>connections</tr></thead><tbody></tbody></table>
<h2>Tables</h2>
<table id="tables"><thead><tr><th>name<th>kind<th>rows<th>memory</tr></thead><tbody></tbody></table>
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
function show(status) {
  const shards = status.shards;
  const sum = key => shards.reduce((total, shard) => total + shard[key], 0);
  document.title = status.job + " · ps-serve";
  at("job").textContent = status.job;
  at("state").textContent = `up ${Math.round(status.uptime_seconds)} s · ${bytes(status.memory_bytes)} resident, ` +
    `${bytes(status.memory_limit_bytes)} allowed · ` +
    `${count(sum("rows"))} rows · ${rate(sum("pulls_per_second"))} pulls/s · ${rate(sum("pushes_per_second"))} pushes/s`;
  at("state").className = "";
  const refused = sum("peers_refused") + status.status_refused;
  at("exposure").textContent = status.exposure + (refused ? ` · ${count(refused)} peers refused` : "");
  at("exposure").className = status.exposure.startsWith("insecure") ? "late" : "";
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
    at("state").textContent = "no answer from the server: " + error.message;
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
