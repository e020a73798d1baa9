# What cannot be taken back is refused: no approval is asked for. An organization that wants such calls writes
# a policy of its own, at any priority below 1000.
package headgate.defaults.deny_destructive

import rego.v1

risk_level := "critical"

deny contains message if {
	input.effect == "destructive"
	not ends_mcp_session
	message := sprintf("%v.%v cannot be undone: refused by default", [input.tool, input.operation])
}

deny contains message if {
	not input.effect == "read"
	regex.match(`^(delete|drop|destroy|purge|truncate|wipe)(_|$)`, input.operation)
	not ends_mcp_session
	message := sprintf("%v.%v cannot be undone: refused by default", [input.tool, input.operation])
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
