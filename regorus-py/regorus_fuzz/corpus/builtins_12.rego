package p
r := numbers.range(1, 1000)
x0 := regex.globs_match("[z-a]", "b")
x1 := regex.globs_match(concat("", ["a" | some _ in r]), "b")
x2 := strings.render_template("{{.a}}", {})
x3 := strings.render_template("{{", {})
x4 := strings.render_template("{{.a | printf}}", {"a": 1})
x5 := strings.render_template("{{define \"x\"}}{{end}}", {})
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
