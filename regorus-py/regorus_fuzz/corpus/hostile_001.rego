package p
f(n) := f(n + 1)
allow if f(1)
