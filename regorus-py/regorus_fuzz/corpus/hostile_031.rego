package p
allow if uuid.rfc4122("x")
