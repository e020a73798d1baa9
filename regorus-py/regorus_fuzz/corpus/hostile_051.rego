package p
allow if count(numbers.range(1, 100000000)) > 1
