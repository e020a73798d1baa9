# A budget of tokens and money for language models, by agent and day (UTC). Above it, a call waits for a person; above
# twice the budget it is refused. What models cost stands in the data document `model_prices`; a model without a price
# there waits, because nobody knows what it would cost. Put it before the defaults (below priority 999).
package examples.model_budget

import rego.v1

tokens_max := 2000000

cost_max_usd := 20

asks_a_model if {
	input.tool == "llm"
	input.operation != "count_tokens"
}

# What must be there is asked for: without the counters, or without a price, none of these holds.
tokens_left if input.usage.agent.tokens < tokens_max

money_left if input.usage.agent.cost_usd < cost_max_usd

priced if input.usage.price_known == true

# The counters of one process alone are less than the agent has used.
counted if input.usage.view in {"shared", "record"}

require_approval contains "the agent's model use of today is not known" if {
	asks_a_model
	not counted
}

require_approval contains message if {
	asks_a_model
	counted
	not tokens_left
	message := sprintf("the agent has used %v of %v tokens today", [input.usage.agent.tokens, tokens_max])
}

require_approval contains message if {
	asks_a_model
	counted
	not priced
	message := sprintf("nobody has said what %v costs", [input.llm.model])
}

require_approval contains message if {
	asks_a_model
	counted
	priced
	not money_left
	message := sprintf("the agent has spent its %v US dollars of today", [cost_max_usd])
}

deny contains message if {
	asks_a_model
	input.usage.agent.tokens >= tokens_max * 2
	message := sprintf("the agent has used %v tokens today, twice its budget", [input.usage.agent.tokens])
}

deny contains "the agent has spent twice its budget of today" if {
	asks_a_model
	input.usage.agent.cost_usd >= cost_max_usd * 2
}

# Its answer is fetched by another call, which says nothing of tokens that is counted.
deny contains "an answer in the background is not counted: send the call without it" if {
	asks_a_model
	object.get(input, ["params", "body", "background"], false) != false
}

# Tokens that a model takes over a WebSocket are not counted.
deny contains "a model is asked over a WebSocket, which is not counted: use HTTP" if {
	input.tool == "websocket"
	input.llm
}
