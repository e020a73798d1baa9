package p
allow if rand.intn("x", 10) == 1
