# Lines of ps-bench --json-stream, or of ps-train --metrics, to columns that gnuplot reads: for each curve a line with its name, then x and y values;
# two empty lines between curves.  The first line of the stream names the machine, into the file `machine`; the suite's name
# goes into the file `suite_file`, "metrics" for those of ps-train.  Keys are unique in a line, and their values no objects,
# except evaluators in lines of ps-train, which are taken out of the line first.
function text(key, found) {
  if (!match($0, "\"" key "\":\"[^\"]*\"")) return ""
  found = substr($0, RSTART, RLENGTH)
  sub("^\"" key "\":\"", "", found)
  sub("\"$", "", found)
  return found
}
function number(key, found) {
  if (!match($0, "\"" key "\":[-+.0-9eE]+")) return "NaN"
  found = substr($0, RSTART, RLENGTH)
  sub("^\"" key "\":", "", found)
  return found
}
function point(curve, x, y) {
  if (y == "NaN") return
  if (!(curve in points)) order[++curves] = curve
  points[curve] = points[curve] x " " y "\n"
}
# Takes the object of a key out of the line, and returns what is between its braces.
function take_object(key, found, from) {
  if (!match($0, "\"" key "\":[{][^{}]*[}]")) return ""
  from = RSTART
  found = substr($0, RSTART, RLENGTH)
  $0 = substr($0, 1, from - 1) substr($0, from + RLENGTH)
  sub("^\"" key "\":[{]", "", found)
  sub("[}]$", "", found)
  return found
}
# A point of a panel of metrics.gp; the third column is its number, and negative where points are not joined.
function in_panel(panel, curve, y) {
  if (y == "NaN") return
  panels[curve] = panel
  point(curve, trained + 0, y " " panel)
}
# Cells of a confusion matrix, and buckets of a calibration, are no curves.
function evaluators(values, what, joined, list, n, i, pair) {
  n = split(values, list, ",")
  for (i = 1; i <= n; i++) {
    if (split(list[i], pair, ":") != 2 || pair[2] == "null") continue
    gsub("\"", "", pair[1])
    if (pair[1] ~ /_as_/ || pair[1] ~ /^(bucket|calibration_[0-9])/) continue
    in_panel(joined * 2, pair[1] ", " what, pair[2])
  }
}
# Examples a second from the line before to this one.
function throughput(samples, seconds) {
  if (seconds > last_seconds && samples > last_samples)
    in_panel(4, "examples a second", (samples - last_samples) / (seconds - last_seconds))
  last_samples = samples
  last_seconds = seconds
}
# What all rows of a picture have in common, for its title.
function describe() {
  subject = text("model") ", " number("ranks") " ranks, " number("dense_bytes") / 1e6 " MB a step"
}

/^\{.*"event":"(batch|pass|validation|test)"/ {
  suite = "metrics"
  CONVFMT = "%.9g"
  event = text("event")
  whole = take_object("evaluators")
  take_object("current_evaluators")
  if (event == "validation" || event == "test") {
    in_panel(-1, event, number("cost"))
    evaluators(whole, event, -1)
    next
  }
  # The examples of the passes before, and of this one so far.
  if (event == "batch" && number("samples") + 0 < last_samples) last_samples = last_seconds = 0
  trained = passed + number("samples")
  in_panel(1, event == "batch" ? "training, since the line before" : "training, mean of the pass", \
           number(event == "batch" ? "current_cost" : "avg_cost"))
  evaluators(whole, "training", 1)
  throughput(number("samples") + 0, number("seconds") + 0)
  if (event == "batch") {
    in_panel(3, "learning rate", number("learning_rate"))
    next
  }
  passed = trained
  last_samples = last_seconds = 0
  subject = ++passes " passes, " passed " examples"
  next
}
/^\{"machine":/ {
  printf "%s", text("processor") > machine
  next
}
/"suite":"dgc"/ {
  suite = "dgc"
  describe()
  x = number("measured_bandwidth") / 1e9
  point("momentum", x, number("momentum_seconds"))
  point("momentum, overlapped", x, number("overlapped_seconds"))
  point("DGC", x, number("dgc_seconds"))
  x = number("bandwidth") / 1e9
  point("published: momentum, FasterRCNN", x, number("published_momentum_seconds"))
  point("published: DGC, FasterRCNN", x, number("published_dgc_seconds"))
  next
}
/"suite":"local-sgd"/ {
  suite = "local-sgd"
  describe()
  point(text("bandwidth_text") "bit/s", number("period"), number("gain"))
  # The same for each bandwidth.
  published[number("period")] = number("published_gain")
  next
}
/"suite":"scaling"/ {
  suite = "scaling"
  subject = text("model") ", " number("dense_bytes") / 1e6 " MB a step, " text("bandwidth_text") "bit/s"
  point(text("algorithm"), number("ranks"), 100 * number("efficiency"))
  next
}
/"suite":"accuracy"/ {
  suite = "accuracy"
  subject = text("job") ", " number("ranks") " trainers, " number("steps") " steps"
  point(text("strategy"), number("bytes_sent") / 1e6, number("value"))
  next
}
/"suite":"plan-check"/ {
  suite = "plan-check"
  subject = "a point for each model, number of ranks and bandwidth"
  x = number("exchange_seconds")
  y = number("modelled_exchange_seconds")
  # An exchange that is too short beside its step is lost in the noise of the latter.
  if (x != "NaN" && y != "NaN" && x > 0 && y > 0) point(text("strategy"), x, y)
  next
}
/^\{.*"name":"all-reduce\// {
  suite = "all-reduce"
  if ($0 ~ /"skipped":/) next
  split(text("name"), part, "/")
  if (part[4] == "choice") next
  subject = "ranks are threads, loopback TCP"
  point(part[2] ", " part[4], number("bytes") / number("items"), number("bus GB/s"))
  next
}
/^\{.*"name":/ {
  if ($0 ~ /"skipped":/) next
  # Limits that a suite is set beside come before it.
  suite = text("name")
  sub("/.*", "", suite)
  subject = suite
  unit = text("unit")
  if (unit == "B") unit = "bytes"
  point("rate, " unit "/s", "\"" text("name") "\"", number("median_rate") " " ++bars)
}
END {
  if (suite == "") exit
  if (suite == "local-sgd") {
    for (k = 1; k <= 1000; k++) if (k in published) point("published: ResNet-50, 4 x 8 V100", k, published[k])
  }
  print suite > suite_file
  printf "%s%s", (suite == "metrics" ? "" : "; "), subject >> machine
  for (i = 1; i <= curves; i++) printf "%sx \"%s\"\n%s", (i > 1 ? "\n\n" : ""), order[i], points[order[i]]
}
