package p
allow if json.unmarshal("[1e100000000]")
