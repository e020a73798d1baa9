# Payments by amount and currency: small ones go, larger ones wait for one person, large ones for two, and beyond the
# limit nobody can agree. Limits are data (data.payments), so that finance can change them without a policy.
package examples.payments

import rego.v1

limits := data.payments.limits[input.params.currency]

pays if {
	input.tool == "payments"
	input.operation in {"pay", "refund", "transfer"}
}

amount := input.params.amount

well_formed if {
	is_number(amount)
	amount > 0
	is_string(input.params.currency)
	limits
}

allow if {
	pays
	well_formed
	amount <= limits.free
	known_payee
}

require_approval contains message if {
	pays
	well_formed
	amount > limits.free
	message := sprintf("%v %v is over %v", [amount, input.params.currency, limits.free])
}

require_approval contains message if {
	pays
	well_formed
	not known_payee
	message := sprintf("%v was never paid before", [object.get(input.params, "payee", "nobody")])
}

deny contains message if {
	pays
	well_formed
	amount > limits.most
	message := sprintf("%v %v is over the limit of %v", [amount, input.params.currency, limits.most])
}

deny contains "a payment names a positive amount and a currency that has limits" if {
	pays
	not well_formed
}

known_payee if input.params.payee in data.payments.payees

approval := {"required_approvals": 2, "hold_seconds": 0, "expires_in_seconds": 86400} if amount > limits.two_people

approval := {"required_approvals": 1, "expires_in_seconds": 86400} if amount <= limits.two_people

risk_level := "critical" if amount > limits.two_people
