# What cannot be taken back is refused: no approval is asked for. An organization that wants such calls writes
# a policy of its own, at any priority below 1000.
package headgate.defaults.deny_destructive

import rego.v1

destructive_prefixes := ["delete_", "drop_", "destroy_", "purge_", "truncate_", "wipe_"]

risk_level := "critical"

deny contains message if {
	input.effect == "destructive"
	message := sprintf("%v.%v cannot be undone: refused by default", [input.tool, input.operation])
}

deny contains message if {
	not input.effect == "read"
	some prefix in destructive_prefixes
	startswith(concat("", [input.operation, "_"]), prefix)
	message := sprintf("%v.%v cannot be undone: refused by default", [input.tool, input.operation])
}
