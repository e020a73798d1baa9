# An agent that may read what it was made to read, and nothing else: named hosts, no bodies, short URLs, no sending.
# Give it a priority below the policies that allow more.
package examples.read_only_agent

import rego.v1

agents := {"reporter"}

hosts := {"api.github.com", "status.example.com"}

limit_bytes := 1024

mine if input.agent.name in agents

allow if {
	mine
	input.effect == "read"
	input.http.host in hosts
	input.http.method in {"GET", "HEAD"}
	input.http.body_size == 0
	short_url
}

deny contains message if {
	mine
	not allow
	message := sprintf("%v may only read from %v", [input.agent.name, concat(", ", sort(hosts))])
}

# What a URL can carry out of the house is bounded; what many of them can is not.
short_url if input.http.url_bytes <= limit_bytes
