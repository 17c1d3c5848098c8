# Rates of benchmarks, a bar each, those of one unit in one colour.  Columns: name, rate, place.
set logscale y
set ylabel "a second"
set style fill solid 0.7
set boxwidth 0.8
set xtics rotate by -40 noenhanced font ",9"
set bmargin 9
plot for [i = 0:blocks - 1] data index i using 3:2:xtic(1) with boxes title columnheader(2)
