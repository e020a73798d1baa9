package p
allow if regex.replace(input.s, `.*[^A-Z]|[A-Z]`, "x")
