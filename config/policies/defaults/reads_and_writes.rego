# Reads go through, everything else waits for a person.
#
# What is a read, the catalogue says (input.effect), or else the method or the name; and it must look like one:
# no body, a URL of at most 2 KB as it was sent. That bounds what one read can carry out of the house. It does not stop an
# agent that makes many of them.
package headgate.defaults.reads_and_writes

import rego.v1

limit_bytes := 2048

mcp_questions := {
	"mcp_initialize", "mcp_server_discover", "mcp_ping", "mcp_logging_set_level",
	"mcp_tools_list", "mcp_prompts_list", "mcp_resources_list", "mcp_resources_templates_list", "mcp_tasks_list",
	"mcp_notifications_initialized", "mcp_notifications_cancelled", "mcp_notifications_progress",
}

allow if read

reason := sprintf("%v.%v is a plain read", [input.tool, input.operation]) if read

require_approval contains message if {
	not read
	message := sprintf("%v.%v is not a plain read", [input.tool, input.operation])
}

# DNS over HTTPS: a query names a host that the allowlist never sees, and its name can carry data. The proxy resolves names
# itself, so an agent needs none.
deny contains "DNS over HTTPS is refused by default: the proxy resolves the names of its calls" if input.tool == "dns"

# What lenient servers read as JSON, under a label by which others would read something else.
deny contains "the body is JSON, but its Content-Type is another: send Content-Type: application/json" if {
	input.http.body_type_mismatch
}

# One rule with alternatives, the most frequent first: what is found to be a read is not looked at further. As rules of their
# own they would all be evaluated for each call.
read if {
	input.effect == "read"
	input.http.body_size == 0
	short_url
} else if {
	not input.http
	carried_out_by_agent
} else if {
	# Listed reads that are sent as a POST: Slack's forms, the lists of an MCP server, AWS's operations that read. An agent
	# that brings credentials of its own tells their owner what it asks for: no more than by a URL of a plain read.
	input.effect == "read"
	input.http.method == "POST"
	input.tool != "http"
	input.http.body_size <= limit_bytes
	input.http.body_kind in {"none", "json", "form"}
	short_url
} else if {
	# Fetching from a repository asks with a POST what it wants (gitprotocol-http); only as Git's clients ask is it a read.
	input.effect == "read"
	input.tool == "git"
	input.http.body_size <= limit_bytes
	short_url
} else if {
	# Handshake, lists and pings of MCP. Only at an address that names itself an MCP server: another server may ignore the
	# body of a POST and act on its path alone.
	input.operation in mcp_questions
	input.http.method == "POST"
	input.http.body_size <= limit_bytes
	short_url
	mcp_address
} else if {
	ends_mcp_session
	short_url
}

# Actions that the agent runs itself: Headgate sends nothing, and the name is all there is to go by.
carried_out_by_agent if {
	input.effect == "read"
} else if {
	not input.effect
	named_as_read
} else if {
	input.effect == null
	named_as_read
} else if {
	# Handshake, lists and pings of an MCP server that the agent runs itself (headgate mcp).
	startswith(input.tool, "mcp_")
	input.operation in mcp_questions
}

# The end of an MCP session (streamable HTTP, "Session Management"): SDKs send it when a client leaves. Only where nothing but an
# MCP server has its place: DELETE /repos/acme/mcp would delete what is called so.
ends_mcp_session if {
	input.tool == "http"
	input.http.method == "DELETE"
	input.http.headers["mcp-session-id"]
	input.http.body_size == 0
	input.http.query == {}
	regex.match(`^(/api)?(/v?[0-9]+(\.[0-9]+)*)?/mcp/?$`, input.http.path)
}

# At its end, or at its start but for a prefix such as /api/v4: elsewhere it may be the name of somebody's repository or job.
mcp_address if regex.match(`^(/api)?(/v?[0-9]+(\.[0-9]+)*)?/mcp/|/mcp$`, input.http.path)

mcp_address if startswith(input.http.host, "mcp.")

named_as_read if regex.match(`^(get|list|read|search)_`, input.operation)

# As it was sent: the path that policies see has its slashes folded.
short_url if input.http.url_bytes <= limit_bytes
