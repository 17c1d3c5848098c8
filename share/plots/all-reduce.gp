# Bandwidth of the bus, as nccl-tests tell it, against the bytes of an all-reduce.
set logscale xy
set format x "10^{%L}"
set xlabel "bytes of the array"
set ylabel "bus bandwidth, GB/s"
plot for [i = 0:blocks - 1] data index i using 1:2 title columnheader(2)
