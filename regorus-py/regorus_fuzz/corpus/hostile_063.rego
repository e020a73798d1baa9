package p
allow if yaml.marshal([18446744073709551616]) != ""
