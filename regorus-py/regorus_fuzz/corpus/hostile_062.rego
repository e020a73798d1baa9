package p
allow if json.marshal_with_options([18446744073709551616], {}) != ""
