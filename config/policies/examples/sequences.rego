# Judges a call by what its agent did before: data that goes somewhere new soon after something sensitive was read, writes
# after refusals, and bursts. Each rule is about writes: reading is never held by it. Old events count no more, and what a
# person has approved makes a destination known.
#
# Whose content is sensitive is data (data.sensitive.hosts, data.sensitive.operations).
package examples.sequences

import rego.v1

changes if input.effect != "read"

changes if not input.effect

minutes(count) := count * 60

sensitive(call) if call.host in data.sensitive.hosts

sensitive(call) if sprintf("%v.%v", [call.tool, call.operation]) in data.sensitive.operations

read_lately contains call if {
	some call in input.session.recent
	call.seconds_ago < minutes(10)
	call.decision in {"allow", "approved"}
	sensitive(call)
}

new_destination if input.session.destination.calls == 0

require_approval contains message if {
	changes
	new_destination
	some call in read_lately
	message := sprintf("the agent read from %v %v s ago, and has sent nothing to %v before", [
		call.host, round(call.seconds_ago), input.http.host,
	])
}

# Refusals of this destination in the last ten minutes; those of others are not its fault.
refused := [call |
	some call in input.session.recent
	call.decision == "deny"
	call.seconds_ago < minutes(10)
	call.host == input.http.host
]

require_approval contains message if {
	changes
	count(refused) >= 3
	message := sprintf("%v calls to %v were denied in the last ten minutes", [count(refused), input.http.host])
}

writes := [call | some call in input.session.recent; call.effect != "read"; call.seconds_ago < 10]

require_approval contains "more than 15 writes within ten seconds" if {
	changes
	count(writes) > 15
}

risk_level := "high" if {
	changes
	new_destination
	count(read_lately) > 0
}
