package p
r := numbers.range(1, 1000)
x0 := uuid.parse("00000000-0000-4000-8000-00000000000x")
x1 := uri.is_valid(1)
x2 := uri.is_valid("")
x3 := uri.is_valid("http://a:b/")
x4 := uri.is_valid("http://[::1]:80/%41")
x5 := uri.parse("https://user:pw@Example.com:8443/a%2Fb/c?x=1#top")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
