package p
allow if product([x | some x in numbers.range(1, 1000)]) > 1
