package p
allow if units.parse_bytes("1e100000000") > 1
