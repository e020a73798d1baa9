package p
allow if to_number("1e100000000") > 1
