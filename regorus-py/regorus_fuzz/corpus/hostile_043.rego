package p
allow if regex.match(`(\w{100}){100}`, `a`)
