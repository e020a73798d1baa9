package p
r := numbers.range(1, 1000)
x0 := uri.parse("http://a/%zz")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
