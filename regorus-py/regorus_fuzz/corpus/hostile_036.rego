package p
allow if bits.lsh(1, 2000000000) > 1
