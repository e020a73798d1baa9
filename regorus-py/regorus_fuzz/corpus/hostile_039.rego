package p
allow if count(regex.find_n(`.*[^A-Z]|[A-Z]`, input.s, -1)) > 1
