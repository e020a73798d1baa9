# Rate by data: a program of yours counts, and keeps the agents that are over their quota in data.over_quota; the
# policy refuses or holds by it. (How many requests a minute an agent may send at all is the gate's own limit.)
package examples.rates

import rego.v1

over := data.over_quota[input.agent.id]

costly if input.tool in {"mail", "sms", "llm"}

deny contains message if {
	costly
	over.level == "hard"
	message := sprintf("over its quota of %v since %v", [over.quota, over.since])
}

require_approval contains message if {
	costly
	over.level == "soft"
	message := sprintf("over %v%% of its quota of %v", [over.percent, over.quota])
}

approval := {"hold_seconds": 0, "expires_in_seconds": 3600}
