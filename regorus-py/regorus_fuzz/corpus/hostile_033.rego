package p
x := 1e100000000
