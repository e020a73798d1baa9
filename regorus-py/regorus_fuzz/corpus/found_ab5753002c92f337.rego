package fuzz
f0(x) if {
	some z0 in "Europe/Nowhere"
}
deny contains m if {
	regex.split(glob.match([{y: "utf8" | some y in input}, "1.2.3.4"], "-----BEGIN CERTIFICATE-----\nAAAA\nEND CERTIFICATE-----\n", count(object.subset(input.params.list, []))), io.jwt.verify_ps384(64, graphql.schema_is_valid(0)))
	is_boolean(yaml.marshal(time.format(crypto.x509.parse_certificates("NaN"))))
	m := 1
}
