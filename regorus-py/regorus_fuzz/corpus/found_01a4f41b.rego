package fuzz
h0 if {
	io.jwt.verify_rs512(strings.any_suffix_match("1h-2m", 1000), 7) with input.params as urlquery.decode_object(regex.globs_match(7, 2))
	every e in -0.5 { e != true }
	x0 := json.unmarshal((strings.count(regex.split("[", {"a": 1, "b": [2]}), [y | some y in "-0"]) % data.limits))
	every e in object.union(numbers.range(count(net.cidr_contains_matches("America/New_York", "{{.a}}")), crypto.hmac.sha1(replace("{\"kty\":\"oct\",\"k\":\"YQ\"}", 1000, "2006-01-02"), strings.any_prefix_match(1000, input.params.list))), object.filter(set(), urlquery.encode_object("a.b.c"))) { e != object.get(time.date("", input.params.list), crypto.sha1("abc"), {"k": true}) }
}
allow if {
	not "2001:db8::1"
	count(trim_prefix(count("%zz"), ceil("1.2.3.4"))) with input.params as [{0.1}, ["2024-02-30T25:61:61Z", [1.5, 2]]]
}
deny contains m if {
	not json.patch(io.jwt.verify_es512(time.parse_ns(units.parse_bytes("1e400"), split("-1e308K", "1e400")), concat({y: -1 | some y in ""}, [false, "http://u:p@[::1]:80/%41?q#f"])), graph.reachable(crypto.sha256("2001:db8::1"), format_int(object.union("é", 63), "1.2.3-rc.1+b")))
	every e in "America/New_York" { e != time.now_ns() }
	not abs("abc")
	m := 1
}
