package p
f(n) := a[n]
a := [f(1)]
allow if a
