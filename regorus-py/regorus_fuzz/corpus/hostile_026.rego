package p
allow if 1 == 1 with data.x as trace
