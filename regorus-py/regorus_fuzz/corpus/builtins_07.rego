package p
r := numbers.range(1, 1000)
x0 := uri.parse("//evil.example/x").hostname
x1 := uri.parse("mailto:a@b.c")
x2 := strings.render_template("{{.a}}", {"a": 2023})
x3 := strings.render_template("{{range $i, $n := .n}}{{if $i}}, {{end}}{{$n}}{{end}}", {"n": ["a", "b"]})
x4 := strings.render_template("a {{- /* no */ -}} b", {})
x5 := strings.render_template("{{if eq .a `x`}}yes{{else if .b}}b{{else}}no{{end}}", {"a": "y", "b": ""})
allow if x0
deny contains x1
reason := x2 if allow
require_approval if { x3; x4; x5 }
