package p
r := numbers.range(1, 1000)
x0 := net.cidr_merge(["10.1.2.3", "10.0.0.0/9"])
x1 := net.cidr_contains_matches("1.1.1.0/24", "1.1.1.128")
x2 := net.cidr_contains_matches(["1.1.0.0/16", ["2.0.0.0/8", "x"]], {"2.1.1.1"})
x3 := regex.globs_match("a.*", "ab")
x4 := regex.globs_match("[a-z]+", "[0-9]*")
x5 := regex.globs_match("a*", "a+b")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
