package p
r := numbers.range(1, 1000)
x0 := net.cidr_contains("10.0.0.0/8", "::ffff:10.0.0.1")
x1 := net.cidr_contains("::ffff:10.0.0.0/104", "10.0.0.1")
x2 := net.cidr_is_valid("10.0.0.0/+8")
x3 := net.cidr_is_valid("10.0.0.0/08")
x4 := net.cidr_is_valid("010.0.0.0/8")
x5 := net.cidr_is_valid("fe80::1%eth0/64")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
