# Seconds of an exchange, as the plan has them against as they were measured.  Where both are the same is the diagonal.
set key outside right center vertical maxcols 1
set logscale xy
set xlabel "seconds of an exchange, measured"
set ylabel "seconds of an exchange, of the plan"
set style data points
plot x with lines dashtype 2 linecolor "gray40" title "measured = planned", \
     for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
