# An agent that writes code: reads and branches freely, waits for a person before anything that others will run, and
# installs packages from the named indexes only.
package examples.coding_agent

import rego.v1

agents := {"coder"}

mine if input.agent.name in agents

# The indexes that your tools install from, a mirror of your own perhaps.
package_indexes := {"packages.example.com", "files.packages.example.com"}

protected_branches := {"main", "master", "release"}

# Git hosts: reads, and writes that stay on a branch.
allow if {
	mine
	input.tool == "github"
	input.effect == "read"
}

allow if {
	mine
	input.tool == "github"
	input.operation in {"create_issue", "create_issue_comment", "create_pull", "create_branch"}
}

allow if {
	mine
	input.http.host in package_indexes
	input.http.method in {"GET", "HEAD"}
	input.http.body_size == 0
}

require_approval contains "a merge changes what others run" if {
	mine
	input.tool == "github"
	input.operation == "merge_pull"
}

require_approval contains message if {
	mine
	input.tool == "github"
	startswith(input.operation, "dispatch_")
	message := sprintf("%v starts continuous integration with its secrets", [input.operation])
}

deny contains message if {
	mine
	input.tool == "github"
	input.params.branch in protected_branches
	input.effect != "read"
	not input.operation == "create_pull"
	message := sprintf("nobody writes to %v directly: open a pull request", [input.params.branch])
}

deny contains message if {
	mine
	input.tool == "github"
	contains(input.params.path, ".github/workflows/")
	input.effect != "read"
	message := "a workflow runs with the repository's secrets: a person changes those"
}

risk_level := "critical" if count(deny) > 0

approval := {"required_approvals": 1, "hold_seconds": 50}
