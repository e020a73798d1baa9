package p
x11 := replace(x10, "a", "aa")
allow if sprintf("%²d", [1])
