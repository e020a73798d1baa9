package p
allow if sprintf("%2000000000d", [1])
