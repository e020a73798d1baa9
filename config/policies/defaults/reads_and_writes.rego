# Reads go through, everything else waits for a person.
#
# A read is recognised by what it is called and how it is sent, never by what it carries: no body, a URL of at
# most 2 KB. That bounds what one read can carry out; it does not stop an agent that makes many of them.
package headgate.defaults.reads_and_writes

import rego.v1

read_methods := {"GET", "HEAD", "OPTIONS"}

read_prefixes := ["get_", "list_", "read_", "search_"]

url_limit_bytes := 2048

allow if read

require_approval contains message if {
	not read
	message := sprintf("%v.%v is not a plain read", [input.tool, input.operation])
}

# Calls that no catalogue knows: the method says what they are.
read if {
	input.tool == "http"
	plain_request
}

# Calls that a catalogue, a protocol or the agent itself names. An unlisted path of a known host is no read:
# its catalogue may list as writes what is sent as GET.
read if {
	input.tool != "http"
	named_as_read
	not input.http
}

read if {
	input.tool != "http"
	named_as_read
	plain_request
}

# Services whose reads are POSTs with a form (Slack's, for one), as far as the catalogue names them.
read if {
	input.tool != "http"
	named_as_read
	input.http.method == "POST"
	input.http.body_size <= url_limit_bytes
	short_url
}

named_as_read if {
	some prefix in read_prefixes
	startswith(input.operation, prefix)
}

plain_request if {
	input.http.method in read_methods
	input.http.body_size == 0
	short_url
}

short_url if count(input.http.path) + count(input.http.query) <= url_limit_bytes
