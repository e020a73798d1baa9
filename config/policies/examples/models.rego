# Language models by name: those of the list, with an answer of bounded length, and without tools that move money. Models
# of others wait for a person. Put it before the defaults (below priority 999).
package examples.models

import rego.v1

models := ["gpt-5", "claude-"]

output_tokens_max := 32000

refused_tools := ["wire_", "pay_"]

asks_a_model if {
	input.tool == "llm"
	input.operation in {"chat", "respond", "complete"}
}

listed(name) if {
	some prefix in models
	startswith(name, prefix)
}

# The one that is asked, and those that may answer instead (OpenRouter's `models` and `fallbacks`).
named contains input.llm.model

named contains name if some name in input.llm.models

require_approval contains message if {
	asks_a_model
	some name in named
	not listed(name)
	message := sprintf("%v is a model that nobody has listed", [name])
}

deny contains message if {
	asks_a_model
	input.llm.max_tokens > output_tokens_max
	message := sprintf("an answer of %v tokens: at most %v", [input.llm.max_tokens, output_tokens_max])
}

deny contains message if {
	asks_a_model
	some name in input.llm.tools
	some prefix in refused_tools
	startswith(name, prefix)
	message := sprintf("the model is offered the tool %v", [name])
}
