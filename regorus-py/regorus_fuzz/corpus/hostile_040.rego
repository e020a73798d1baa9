package p
allow if count(regex.split(`.*[^A-Z]|[A-Z]`, input.s)) > 1
