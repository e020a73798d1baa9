package p
allow if json.unmarshal("{\"a\": 1, \"a\": 2}")
