# What all pictures share.  share/plots/plot gives `data`, a file of curves; `blocks`, their number; and `machine`.
set title machine font ",11" noenhanced
set grid
set key outside center top horizontal noenhanced
set style data linespoints
set pointsize 1.2
