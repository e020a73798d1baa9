# Where agents may send to: hosts by name or by domain (data.egress), reading elsewhere at most a little, and nothing
# by plain http, to addresses without a name, or on unusual ports.
package examples.egress_by_host

import rego.v1

host := input.http.host

listed if host in data.egress.hosts

listed if {
	some domain in data.egress.domains
	endswith(host, sprintf(".%v", [domain]))
}

is_address if regex.match(`^[0-9.]+$|:`, host)

allow if {
	input.http
	listed
	input.http.scheme == "https"
	input.http.port == 443
}

deny contains message if {
	input.http
	not listed
	not plain_read
	message := sprintf("%v is not a destination that agents may send to", [host])
}

deny contains "an address without a name says nothing about who answers" if {
	input.http
	is_address
	not listed
}

deny contains message if {
	input.http
	input.http.scheme == "http"
	message := sprintf("%v by plain http: anybody on the way reads and changes it", [host])
}

require_approval contains message if {
	input.http
	not listed
	plain_read
	message := sprintf("%v was not heard of before", [host])
}

require_approval contains message if {
	listed
	not input.http.port in {443, 80}
	message := sprintf("port %v of %v", [input.http.port, host])
}

plain_read if {
	input.http.method in {"GET", "HEAD"}
	input.http.body_size == 0
	input.http.url_bytes <= 512
}
