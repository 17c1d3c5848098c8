# A run of ps-train: cost, evaluators, learning rate and throughput against the examples that were trained on, passes one
# after another.  The third column of a curve's points is the number of its panel, negative where points are not joined.
array curves[4] = ["", "", "", ""]
do for [i = 0:blocks - 1] {
  stats data index i using 3 nooutput
  panel = int(abs(STATS_min))
  style = STATS_min < 0 ? "points" : "lines"
  before = curves[panel] eq "" ? "" : curves[panel].", "
  curves[panel] = before.sprintf("data index %d using 1:2 with %s title columnheader(2)", i, style)
}
array heading[4] = ["cost", "evaluators", "learning rate", "examples a second"]
unset title
set xrange [0:1<*]
set offsets 0, 0, graph 0.05, graph 0.05
set key outside center bottom horizontal noenhanced font ",9"
set pointsize 1
set multiplot layout 2, 2 title machine font ",11" noenhanced
do for [panel = 1:4] {
  set xlabel (panel > 2 ? "examples trained on" : "")
  set ylabel heading[panel]
  if (panel > 2) { set yrange [0:*] } else { set yrange [*:*] }
  if (curves[panel] ne "") { eval "plot ".curves[panel] } else { set multiplot next }
}
unset multiplot
