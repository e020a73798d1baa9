package examples.read_only_agent_test

import data.examples.read_only_agent
import rego.v1

call(path) := {
	"agent": {"name": "reporter"},
	"effect": "read",
	"http": {"host": "api.github.com", "method": "GET", "path": path, "query": {}, "body_size": 0},
}

path(length) := concat("", [letter | some _ in numbers.range(1, length); letter := "a"])

test_a_url_of_a_kilobyte_is_short if read_only_agent.allow with input as call(path(1000))

test_a_longer_one_is_refused if {
	not read_only_agent.allow with input as call(path(1100))
	count(read_only_agent.deny) == 1 with input as call(path(1100))
}
