package p
allow if trace("x")
