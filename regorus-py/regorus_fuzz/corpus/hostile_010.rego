package p
a if b
b if a
allow if a
