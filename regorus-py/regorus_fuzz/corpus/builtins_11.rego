package p
r := numbers.range(1, 1000)
x0 := net.cidr_expand("::/0")
x1 := net.cidr_expand("10.0.0.0/15")
x2 := net.cidr_contains_matches([x | some x in r], [x | some x in r])
x3 := regex.globs_match("a]", "b")
x4 := regex.globs_match("+a", "b")
x5 := regex.globs_match("a\\", "b")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
