package p
r := numbers.range(1, 1000)
x0 := strings.render_template("{{range .a}}{{range $.a}}{{range $.a}}x{{end}}{{end}}{{end}}", {"a": r})
x1 := graphql.parse_query("{ a")
x2 := graphql.parse_query(concat("", ["{ a " | some _ in numbers.range(1, 100)]))
x3 := graphql.parse_schema("type A {}")
x4 := graph.reachable_paths({x: [y | some y in n; y != x] | n := numbers.range(1, 200); some x in n}, [1])
x5 := uri.parse("http://a b/")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
