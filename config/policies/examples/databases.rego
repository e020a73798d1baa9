# Database operations by what the statement begins with. Reading a statement's first word is not parsing SQL: what it
# does not recognise waits, and so do several statements in one.
package examples.databases

import rego.v1

environments_to_ask := {"production"}

concerned if {
	input.tool == "database"
	input.operation in {"query", "execute"}
}

statement := trim_space(regex.replace(input.params.sql, `(?s)/\*.*?\*/|--[^\n]*`, " "))

first_word := upper(regex.find_n(`^[A-Za-z]+`, statement, 1)[0])

several if contains(trim_suffix(statement, ";"), ";")

reads if {
	first_word in {"SELECT", "SHOW", "EXPLAIN", "DESCRIBE"}
	not several
	not regex.match(`(?i)\b(into|for\s+update|pg_sleep|dblink|copy)\b`, statement)
}

allow if {
	concerned
	reads
}

allow if {
	concerned
	first_word in {"INSERT", "UPDATE", "DELETE"}
	not several
	not unbounded
	not input.context.environment in environments_to_ask
	input.context.environment
}

require_approval contains message if {
	concerned
	not allow
	not destroys
	message := sprintf("%v on %v", [object.get({"w": first_word}, "w", "a statement"), environment])
}

require_approval contains "a statement that begins with no word" if {
	concerned
	not first_word
}

deny contains message if {
	concerned
	destroys
	message := sprintf("%v takes back nothing: a migration does that, reviewed", [first_word])
}

deny contains message if {
	concerned
	unbounded
	message := sprintf("%v without WHERE", [first_word])
}

destroys if first_word in {"DROP", "TRUNCATE", "GRANT", "REVOKE", "ALTER"}

unbounded if {
	first_word in {"UPDATE", "DELETE"}
	not regex.match(`(?i)\bwhere\b`, statement)
}

environment := object.get(input.context, "environment", "an environment that nobody named")

risk_level := "critical" if count(deny) > 0
