package p
allow if __builtin_sets.union({1}, {2})
