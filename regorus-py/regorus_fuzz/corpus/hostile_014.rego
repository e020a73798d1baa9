package p
a contains 1 if a[2]
allow if a
