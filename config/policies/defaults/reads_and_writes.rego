# Reads go through, everything else waits for a person.
#
# What is a read, the catalogue says (input.effect), or else the method or the name; and it must look like one:
# no body, a URL of at most 2 KB. That bounds what one read can carry out of the house. It does not stop an
# agent that makes many of them.
package headgate.defaults.reads_and_writes

import rego.v1

limit_bytes := 2048

read_prefixes := ["get_", "list_", "read_", "search_"]

allow if read

reason := sprintf("%v.%v is a plain read", [input.tool, input.operation]) if read

require_approval contains message if {
	not read
	message := sprintf("%v.%v is not a plain read", [input.tool, input.operation])
}

read if {
	input.effect == "read"
	input.http.body_size == 0
	short_url
}

# Listed reads that are sent as a POST: Slack's forms, the lists of an MCP server.
read if {
	input.effect == "read"
	input.http.method == "POST"
	input.tool != "http"
	input.http.body_size <= limit_bytes
	short_url
}

# Actions that the agent runs itself: Headgate sends nothing, and the name is all there is to go by.
read if {
	not input.http
	input.effect == "read"
}

read if {
	not input.http
	not input.effect
	named_as_read
}

read if {
	not input.http
	input.effect == null
	named_as_read
}

named_as_read if {
	some prefix in read_prefixes
	startswith(input.operation, prefix)
}

short_url if count(input.http.path) + count(json.marshal(input.http.query)) <= limit_bytes
