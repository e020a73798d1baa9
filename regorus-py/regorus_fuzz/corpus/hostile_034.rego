package p
x := [1.5E+100000000]
