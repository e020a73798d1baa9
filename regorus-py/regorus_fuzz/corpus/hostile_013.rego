package p
allow if data.p[x]
