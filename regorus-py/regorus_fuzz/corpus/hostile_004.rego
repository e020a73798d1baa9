package p
f(n) := [m | m := h(n)][0]
h(n) := n if { every x in [n] { f(x) } }
allow if f(1)
