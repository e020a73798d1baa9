package p
r := numbers.range(1, 1000)
x0 := crypto.sha256(1)
x1 := crypto.hmac.sha256("a", null)
x2 := net.cidr_contains("10.0.0.0", "10.0.0.1")
x3 := net.cidr_contains("10.0.0.0/8", "no")
x4 := net.cidr_merge(["2001:db8::1"])
x5 := net.cidr_contains_matches(["10.0.0.0/8", []], "10.0.0.1")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
