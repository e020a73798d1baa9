package p
allow if regex.match(input.s, input.s)
