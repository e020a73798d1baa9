package p
r := numbers.range(1, 1000)
x0 := strings.render_template("{{with .a.b}}{{.}}{{$.c}}{{end}}", {"a": {"b": 1}, "c": true})
x1 := strings.render_template("{{len .a}}{{index .a 1}}", {"a": ["x", "y"]})
x2 := strings.render_template("{{.a}}{{.b}}", {"a": [1, "x"], "b": {"k": null}})
x3 := graphql.parse_query("mutation { drop }").Operations[0].Operation
x4 := graphql.parse_query("{ a: b(c: [1, $d]) @e }").Operations[0].SelectionSet[0]
x5 := graphql.schema_is_valid("type A { b: C }")
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
