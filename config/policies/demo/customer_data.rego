# Reading what identifies a person waits for somebody who may say yes.
package demo.customer_data

import rego.v1

identifying := {"email", "phone", "ssn", "date_of_birth", "address", "iban"}

asked_for contains column if {
	input.tool == "database"
	some word in regex.find_n(`[a-z_]+`, lower(input.params.sql), -1)
	some column in identifying
	word == column
}

risk_level := "high" if count(asked_for) > 0

require_approval contains message if {
	count(asked_for) > 0
	message := sprintf("reads %v of customers", [concat(", ", sort(asked_for))])
}
