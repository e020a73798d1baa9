package p
allow if object.union_n([{x: 1} | some x in numbers.range(1, 20000)])
