package p
allow if units.parse("1e100000000") > 1
