# Throughput of local SGD against k, as a multiple of that of the first k.
set logscale x 2
set xlabel "k, steps from one exchange to the next"
set ylabel "examples a second, of those at the first k"
set yrange [0:*]
plot for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
