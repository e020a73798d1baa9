package p
allow if sprintf("%.2000000000f", [1.5])
