package p
r := numbers.range(1, 1000)
x0 := crypto.md5("abc")
x1 := crypto.sha1("abc")
x2 := crypto.sha256("abc")
x3 := crypto.hmac.sha256("what do ya want for nothing?", "Jefe")
x4 := crypto.hmac.md5("what do ya want for nothing?", "Jefe")
x5 := crypto.hmac.equal("a", "a")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
