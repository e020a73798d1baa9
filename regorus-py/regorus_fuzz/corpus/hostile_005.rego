package p
f(n) := data.p.f(n)
allow if f(1)
