package p
allow if strings.replace_n({sprintf("%d", [x]): "a" | some x in numbers.range(1, 2000)}, input.s) == ""
