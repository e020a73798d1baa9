package p
f(n) := g(n)
g(n) := f(n)
allow if f(1)
