# Deployments in working hours only, none in a freeze, and at other times with two people. Hours are those of a place;
# freezes are data (data.freezes), each from an instant to another.
package examples.change_windows

import rego.v1

place := "Europe/Berlin"

deploys if {
	input.tool == "deploy"
	input.operation in {"release", "rollback"}
}

now := time.now_ns()

hour := time.clock([now, place])[0]

weekday := time.weekday([now, place])

working_hours if {
	weekday in {"Monday", "Tuesday", "Wednesday", "Thursday"}
	hour >= 9
	hour < 16
}

frozen contains freeze.name if {
	some freeze in data.freezes
	now >= time.parse_rfc3339_ns(freeze.from)
	now < time.parse_rfc3339_ns(freeze.to)
}

allow if {
	deploys
	working_hours
	count(frozen) == 0
}

# Going back is what one does in an emergency.
allow if {
	deploys
	input.operation == "rollback"
}

deny contains message if {
	deploys
	input.operation == "release"
	some name in frozen
	message := sprintf("changes are frozen: %v", [name])
}

require_approval contains message if {
	deploys
	input.operation == "release"
	not working_hours
	message := sprintf("a release on %v at %v o'clock", [weekday, hour])
}

approval := {"required_approvals": 2}
