package fuzz
deny if {
	every e in {y: is_null(0) | some y in ["/a",  "b/c"]} { e != time.now_ns() }
	not strings.replace_n(time.clock(semver.is_valid(bits.lsh(18446744073709551616, 1000))), regex.replace(object.union_n((-9223372036854775808 / "a.b.c")), [count([1.5, 2]), 2], "a: ["))
	strings.reverse(-1)
	not count(is_array(time.add_date("a+b*[c-d]", count("{\"kty\":\"oct\",\"k\":\"YQ\"}"), "%-999.999f", "0x1F")))
}
h1 if {
	"QUI=" with input.params as numbers.range_step("1h-2m", "abc", contains("a: [", time.now_ns()))
	not [[1, 2], ["a"]]
	count(json.marshal(array.flatten(strings.split_n(255, "type A implements B & C { d: [E!]! }", input.params.list)), io.jwt.verify_hs384({y: 1 | some y in "0x1F"}, semver.compare(input.params, "abc")))) with input.params as trim_suffix(replace({"a": 1, "b": [2]}, "(((a+)+)+)+", "::/0"), crypto.md5("QUJD"))
}
