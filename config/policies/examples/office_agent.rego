# An agent that helps in the office: it answers colleagues, and asks before it writes to anybody else or to many.
package examples.office_agent

import rego.v1

agents := {"assistant"}

own_domain := "example.com"

many := 10

mine if input.agent.name in agents

recipients contains lower(address) if {
	some field in ["to", "cc", "bcc"]
	some address in input.params[field]
}

outsiders contains address if {
	some address in recipients
	not endswith(address, sprintf("@%v", [own_domain]))
}

sends if {
	mine
	input.tool == "mail"
	input.operation == "send"
}

allow if {
	sends
	count(recipients) in numbers.range(1, many)
	count(outsiders) == 0
}

allow if {
	mine
	input.tool in {"calendar", "mail", "documents"}
	startswith(input.operation, "list_")
}

allow if {
	mine
	input.tool in {"calendar", "mail", "documents"}
	startswith(input.operation, "get_")
}

require_approval contains message if {
	sends
	count(outsiders) > 0
	message := sprintf("mail to %v outside of %v", [concat(", ", sort(outsiders)), own_domain])
}

require_approval contains message if {
	sends
	count(recipients) > many
	message := sprintf("mail to %v people", [count(recipients)])
}

require_approval contains "an invitation reaches other people's calendars" if {
	mine
	input.tool == "calendar"
	input.operation in {"create_event", "update_event"}
	count(input.params.attendees) > 0
}

deny contains "a document is not shared with everybody" if {
	mine
	input.tool == "documents"
	input.operation == "share"
	input.params.visibility == "public"
}

deny contains "mail to nobody" if {
	sends
	count(recipients) == 0
}
