# The measure of each trained model against the bytes that a trainer has sent for it: a point for each seed.
set key outside right center vertical maxcols 1
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
set logscale x
set xlabel "MB that trainer 0 has sent"
set ylabel "measure of the test data"
set style data points
plot for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
