package p
f(n) := 1 if { print(f(n)) }
allow if f(1)
