package p
r := numbers.range(1, 1000)
x0 := net.cidr_is_valid(8)
x1 := net.cidr_intersects("10.0.0.0/8", "10.1.0.0/16")
x2 := net.cidr_intersects("10.0.0.0/8", "11.0.0.0/16")
x3 := net.cidr_expand("192.168.0.1/30")
x4 := net.cidr_expand("2001:db8::/127")
x5 := net.cidr_merge(["192.0.128.0/24", "192.0.129.0/24"])
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
