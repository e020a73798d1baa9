package p
allow if yaml.unmarshal("a: &a [1]\nb: [*a, *a]")
