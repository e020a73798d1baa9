package p
allow if glob.match(input.s, [], "x")
