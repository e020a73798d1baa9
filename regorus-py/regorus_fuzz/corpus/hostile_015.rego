package p
a[x] := 1 if { some x in a }
allow if a
