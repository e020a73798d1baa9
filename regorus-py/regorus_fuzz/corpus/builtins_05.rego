package p
r := numbers.range(1, 1000)
x0 := regex.globs_match(".*.*.*.*.*.*.*.*.*.*x", ".*.*.*.*.*.*.*.*.*.*y")
x1 := array.flatten([1, [2, [3]], []])
x2 := strings.split_n("a.b.c", ".", 2)
x3 := strings.split_n("a.b.c", ".", -2)
x4 := strings.split_n("a.b.c", ".", 9)
x5 := uuid.parse("00000000-0000-4000-8000-000000000000")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
