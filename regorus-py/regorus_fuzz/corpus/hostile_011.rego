package p
allow if data[x].y
