package p
f(x) := x * x
g(x) := f(f(f(f(x))))
h(x) := g(g(g(g(x))))
allow if h(h(h(3))) > 1
