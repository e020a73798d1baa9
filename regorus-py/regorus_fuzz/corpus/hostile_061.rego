package p
allow if trim("a", input.s)
