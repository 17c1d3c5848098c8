# Seconds of a step against the bandwidth of a link.
set logscale xy
set xlabel "bandwidth of a link, measured, Gbit/s"
set ylabel "seconds a step"
plot for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
