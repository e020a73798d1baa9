package p
r := numbers.range(1, 1000)
x0 := graphql.schema_is_valid("type A { b: Int }")
x1 := graphql.schema_is_valid("type A { b: Int b: Int }")
x2 := graphql.schema_is_valid("interface I { a: Int } type A implements I { b: Int }")
x3 := graphql.schema_is_valid(1)
x4 := graph.reachable_paths({"a": ["b"], "b": []}, {"a"})
x5 := graph.reachable_paths({"a": ["b"]}, {"a"})
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
