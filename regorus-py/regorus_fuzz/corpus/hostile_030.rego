package p
allow if opa.runtime()
