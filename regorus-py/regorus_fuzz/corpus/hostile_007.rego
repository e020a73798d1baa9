package p
f(n) := n
g(n) := 1 if f(n) == 1 with f as g
allow if g(1)
