package p
n := numbers.range(1, 2000)
allow if { some a in n; some b in n; some c in n; a + b + c == -1 }
