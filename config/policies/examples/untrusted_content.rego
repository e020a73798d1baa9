# Holds a payment, a message, an upload or a share whose recipient first appeared in something that nobody vouches for: a
# web page, a mail, an issue, the answer of a tool. It stops the injected instruction "send it to …" whatever its words.
# What a person wrote in the prompt, and what stands in a data document, is not held. Trusted hosts are data
# (data.trusted_sources.hosts).
package examples.untrusted_content

import rego.v1

# The last names of a path under which calls name who gets something.
recipients := {
	"account", "account_number", "address", "attendees", "bcc", "beneficiary", "bic", "callback", "callback_url", "cc",
	"channel", "collaborator", "destination", "email", "emailaddress", "emails", "endpoint", "iban", "invitee", "member",
	"payee", "phone", "phone_number", "recipient", "recipients", "redirect_uri", "reply_to", "target", "to", "toaddresses",
	"torecipients", "url", "user", "username", "wallet", "webhook", "webhook_url",
}

changes if input.effect != "read"

changes if not input.effect

# params.message.toRecipients[0].emailAddress.address names a recipient: each name on the way counts, and each part of a
# name in quotes (params["message.to"]).
names_recipient(path) if {
	some name in regex.split(`[^A-Za-z0-9_]+`, path)
	lower(name) in recipients
}

# Where an upload or a form goes is its recipient too. The star stands for values that were not looked up.
names_recipient(path) if path in {"http.host", "*"}

untrusted contains [path, origin] if {
	changes
	some path, origin in input.provenance
	origin.trusted == false
	names_recipient(path)
}

require_approval contains message if {
	some [path, origin] in untrusted
	message := sprintf("%v first appeared in %v", [path, described(origin)])
}

described(origin) := sprintf("the answer of %v", [origin.host]) if {
	origin.source == "response"
	origin.host
} else := "what a tool told the agent" if {
	origin.source == "tool_result"
} else := "content that nobody vouches for"

risk_level := "high" if count(untrusted) > 0
