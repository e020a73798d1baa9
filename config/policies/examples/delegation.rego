# Rules by agent, and by how far an action was delegated: an orchestrator may hand work on, but what was handed on
# does less, and an unknown workflow does nothing. The depth is what Headgate knows (input.delegation.depth, the length
# of input.delegation.chain), or what the orchestrator says of itself (context.depth), whichever is more.
package examples.delegation

import rego.v1

workflows := {"nightly-report", "triage"}

delegated if input.delegation.parentActionId

delegated if input.delegation.orchestratorId

said := input.context.depth if says_a_depth

says_a_depth if is_number(input.context.depth)

depth := max([object.get(input.delegation, "depth", 0), said])

depth := max([object.get(input.delegation, "depth", 0), 1]) if {
	not says_a_depth
	delegated
}

deny contains message if {
	delegated
	not of_ours
	message := sprintf("%v is no workflow of ours", [object.get(input.delegation, "workflowId", "a delegation without a workflow")])
}

of_ours if input.delegation.workflowId in workflows

deny contains message if {
	depth > 2
	message := sprintf("handed on %v times: at most twice", [depth])
}

deny contains "an action says that it was handed on, and names nobody who did" if {
	depth > 0
	not delegated
}

require_approval contains "what was handed on writes only with a person's agreement" if {
	delegated
	not reads
}

allow if {
	delegated
	reads
}

reads if input.effect == "read"

reads if startswith(input.operation, "get_")
