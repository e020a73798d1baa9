package examples.read_only_agent_test

import data.examples.read_only_agent
import rego.v1

call(url_bytes) := {
	"agent": {"name": "reporter"},
	"effect": "read",
	"http": {"host": "api.github.com", "method": "GET", "path": "/a", "query": {}, "url_bytes": url_bytes, "body_size": 0},
}

test_a_url_of_a_kilobyte_is_short if read_only_agent.allow with input as call(1000)

test_a_longer_one_is_refused if {
	not read_only_agent.allow with input as call(1100)
	count(read_only_agent.deny) == 1 with input as call(1100)
}
