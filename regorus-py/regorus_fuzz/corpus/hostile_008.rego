package p
default f(_) := 1
f(n) := f(n)
allow if f(1)
