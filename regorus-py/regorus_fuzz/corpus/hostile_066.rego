package p
allow if indexof(input.s, input.s) == 1
