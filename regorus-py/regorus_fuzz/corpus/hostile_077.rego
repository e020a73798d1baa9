package p
allow if sprintf("%²d", [1])
