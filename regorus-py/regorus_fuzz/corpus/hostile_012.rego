package p
allow if { walk(data, [path, value]) }
