package p
allow if regex.template_match("aaaa{.*}b", "a", "{", "}")
