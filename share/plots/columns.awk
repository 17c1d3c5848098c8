# Lines of ps-bench --json-stream to columns that gnuplot reads: for each curve a line with its name, then x and y values;
# two empty lines between curves.  The first line of the stream names the machine, into the file `machine`; the suite's name
# goes into the file `suite_file`.  Keys are unique in a line, and their values no objects.
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
# What all rows of a picture have in common, for its title.
function describe() {
  subject = text("model") ", " number("ranks") " ranks, " number("dense_bytes") / 1e6 " MB a step"
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
  printf "; %s", subject >> machine
  for (i = 1; i <= curves; i++) printf "%sx \"%s\"\n%s", (i > 1 ? "\n\n" : ""), order[i], points[order[i]]
}
