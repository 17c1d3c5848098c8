# Share of a step that is compute, against the number of ranks.
set logscale x 2
set xlabel "ranks"
set ylabel "efficiency, %"
set yrange [0:105]
plot for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
