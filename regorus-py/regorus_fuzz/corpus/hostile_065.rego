package p
allow if regex.match(`[ab]*a[ab]{400}c`, input.s)
