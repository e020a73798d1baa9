package p
allow if count(numbers.range_step(1, 100000000, 1)) > 1
