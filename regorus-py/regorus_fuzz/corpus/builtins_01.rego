package p
r := numbers.range(1, 1000)
x0 := crypto.hmac.equal("a", "b")
x1 := crypto.hmac.equal("a", "ab")
x2 := net.cidr_contains("10.0.0.0/8", "10.1.2.3")
x3 := net.cidr_contains("10.0.0.0/8", "11.0.0.0/16")
x4 := net.cidr_contains("10.0.0.0/8", "10.0.0.0/7")
x5 := net.cidr_contains("::/0", "10.0.0.1")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
