# Allows requests for tokens at hosts that exist for signing in, so that an agent's client does not wait for a person each
# time a token ends. The calls are recorded, and policies about content still apply: credentials of one vendor do not go
# to another.
#
# A request for a token is a POST of a form or JSON, over https, whose path ends as that of a token endpoint does (RFC 6749,
# section 3.2) and lies below one of the vendor's. Hosts with tenants that anybody can own (Okta, Auth0, Cognito, Salesforce's
# own domains) are no such hosts: their owner reads what is sent there.
package headgate.defaults.sign_in

import rego.v1

limit_bytes := 16384

url_limit_bytes := 2048

endpoints := {"token", "access_token", "oauth_token", "generateToken", "oauth.access", "oauth.v2.access", "openid.connect.token"}

# Host → what the path begins with ("/": anything). As in config/detectors/credential_destinations.yaml, which says whose
# credentials may go there; a test compares both.
hosts := {
	"access.stripe.com": {"/mcp/oauth2"},
	"account-d.docusign.com": {"/oauth"},
	"account.api.here.com": {"/oauth2"},
	"account.docusign.com": {"/oauth"},
	"accounts.google.com": {"/"},
	"accounts.snapchat.com": {"/"},
	"accounts.spotify.com": {"/api/token"},
	"accounts.zoho.com": {"/oauth"},
	"accounts.zoho.com.au": {"/oauth"},
	"accounts.zoho.eu": {"/oauth"},
	"accounts.zoho.in": {"/oauth"},
	"aip.baidubce.com": {"/oauth"},
	"airtable.com": {"/oauth2"},
	"api-m.paypal.com": {"/v1/oauth2"},
	"api-m.sandbox.paypal.com": {"/v1/oauth2"},
	"api.amadeus.com": {"/v1/security"},
	"api.amazon.com": {"/auth"},
	"api.box.com": {"/oauth2"},
	"api.canva.com": {"/rest/v1/oauth"},
	"api.clickup.com": {"/api/v2/oauth"},
	"api.coinbase.com": {"/oauth"},
	"api.datev.de": {"/token"},
	"api.dropbox.com": {"/oauth2"},
	"api.dropboxapi.com": {"/oauth2"},
	"api.ebay.com": {"/identity"},
	"api.etsy.com": {"/v3/public/oauth"},
	"api.figma.com": {"/v1/oauth"},
	"api.fitbit.com": {"/oauth2"},
	"api.freshbooks.com": {"/auth"},
	"api.helpscout.net": {"/v2/oauth2"},
	"api.hubapi.com": {"/oauth"},
	"api.instagram.com": {"/oauth"},
	"api.intercom.io": {"/auth"},
	"api.line.me": {"/oauth2"},
	"api.linear.app": {"/oauth"},
	"api.login.yahoo.com": {"/oauth2"},
	"api.lufthansa.com": {"/v1/oauth"},
	"api.miro.com": {"/v1/oauth"},
	"api.netlify.com": {"/oauth"},
	"api.notion.com": {"/v1/oauth"},
	"api.paypal.com": {"/v1/oauth2"},
	"api.petfinder.com": {"/v2/oauth2"},
	"api.pinterest.com": {"/v5/oauth"},
	"api.sabre.com": {"/v2/auth"},
	"api.supabase.com": {"/v1/oauth"},
	"api.surveymonkey.com": {"/oauth"},
	"api.transferwise.com": {"/oauth"},
	"api.tumblr.com": {"/v2/oauth2"},
	"api.twitter.com": {"/2/oauth2", "/oauth"},
	"api.typeform.com": {"/oauth"},
	"api.vercel.com": {"/login/oauth", "/v2/oauth"},
	"api.webflow.com": {"/oauth"},
	"api.weixin.qq.com": {"/cgi-bin/token", "/sns/oauth2"},
	"api.wise.com": {"/oauth"},
	"api.x.com": {"/2/oauth2"},
	"apis.fedex.com": {"/oauth"},
	"apis.usps.com": {"/oauth2"},
	"app.asana.com": {"/-/oauth_token"},
	"appleid.apple.com": {"/auth"},
	"auth.atlassian.com": {"/"},
	"auth.calendly.com": {"/"},
	"auth.docker.io": {"/"},
	"auth.monday.com": {"/oauth2"},
	"auth.openai.com": {"/"},
	"auth.uber.com": {"/oauth"},
	"auth0.openai.com": {"/"},
	"bankaccountdata.gocardless.com": {"/api/v2/token"},
	"bitbucket.org": {"/site/oauth2"},
	"cf.mcp.atlassian.com": {"/v1/token"},
	"cloud.digitalocean.com": {"/v1/oauth"},
	"connect.squareup.com": {"/oauth2"},
	"connect.stripe.com": {"/oauth"},
	"console.anthropic.com": {"/v1/oauth"},
	"dash.cloudflare.com": {"/oauth2"},
	"developer.api.autodesk.com": {"/authentication"},
	"discord.com": {"/api/oauth2", "/api/v10/oauth2"},
	"ghcr.io": {"/token"},
	"github.com": {"/login/device", "/login/oauth"},
	"gitlab.com": {"/jwt/auth", "/oauth"},
	"graph.facebook.com": {"/oauth"},
	"hub.docker.com": {"/v2/auth", "/v2/users/login"},
	"huggingface.co": {"/oauth"},
	"id.atlassian.com": {"/"},
	"id.heroku.com": {"/oauth"},
	"id.twitch.tv": {"/oauth2"},
	"id.vk.com": {"/"},
	"identity.dataspace.copernicus.eu": {"/"},
	"identity.xero.com": {"/connect"},
	"ims-na1.adobelogin.com": {"/"},
	"kauth.kakao.com": {"/"},
	"launchpad.37signals.com": {"/"},
	"login.coinbase.com": {"/oauth2"},
	"login.live.com": {"/"},
	"login.mailchimp.com": {"/oauth2"},
	"login.microsoft.com": {"/"},
	"login.microsoftonline.com": {"/"},
	"login.microsoftonline.us": {"/"},
	"login.partner.microsoftonline.cn": {"/"},
	"login.salesforce.com": {"/services/oauth2"},
	"login.uber.com": {"/oauth"},
	"login.windows.net": {"/"},
	"login.wrike.com": {"/oauth2"},
	"mcp.asana.com": {"/token"},
	"mcp.atlassian.com": {"/v1/token"},
	"mcp.cloudflare.com": {"/token"},
	"mcp.intercom.com": {"/token"},
	"mcp.linear.app": {"/token"},
	"mcp.neon.tech": {"/api/token", "/token"},
	"mcp.notion.com": {"/token"},
	"mcp.paypal.com": {"/token"},
	"mcp.sentry.dev": {"/oauth"},
	"mcp.squareup.com": {"/token"},
	"mcp.webflow.com": {"/token"},
	"nid.naver.com": {"/oauth2.0"},
	"oauth.platform.intuit.com": {"/"},
	"oauth.vk.com": {"/"},
	"oauth.yandex.com": {"/"},
	"oauth.yandex.ru": {"/"},
	"oauth2.googleapis.com": {"/"},
	"oauth2.neon.tech": {"/"},
	"onlinetools.ups.com": {"/security"},
	"open.tiktokapis.com": {"/v2/oauth"},
	"openapi.baidu.com": {"/oauth"},
	"platform.claude.com": {"/v1/oauth"},
	"platform.ringcentral.com": {"/restapi/oauth"},
	"public-api.wordpress.com": {"/oauth2"},
	"pypi.org": {"/_/oidc"},
	"registry.npmjs.org": {"/-/npm/v1/oidc", "/-/user"},
	"secure.meetup.com": {"/oauth2"},
	"securetoken.googleapis.com": {"/"},
	"sentry.io": {"/oauth"},
	"services.sentinel-hub.com": {"/"},
	"signin.aws.amazon.com": {"/"},
	"slack.com": {"/api/oauth.access", "/api/oauth.v2.access", "/api/openid.connect.token", "/api/tooling.tokens.rotate"},
	"sts.amazonaws.com": {"/"},
	"sts.googleapis.com": {"/"},
	"test.api.amadeus.com": {"/v1/security"},
	"test.salesforce.com": {"/services/oauth2"},
	"todoist.com": {"/oauth"},
	"wbsapi.withings.net": {"/v2/oauth2"},
	"webexapis.com": {"/v1/access_token"},
	"www.arcgis.com": {"/sharing/rest/generateToken", "/sharing/rest/oauth2"},
	"www.eventbrite.com": {"/oauth"},
	"www.figma.com": {"/api/oauth"},
	"www.googleapis.com": {"/oauth2"},
	"www.linkedin.com": {"/oauth"},
	"www.reddit.com": {"/api/v1/access_token"},
	"www.strava.com": {"/api/v3/oauth", "/oauth"},
	"wwwcie.ups.com": {"/security"},
	"zoom.us": {"/oauth"},
}

# Regions of one operator, as patterns of the host and of the path.
shapes := [
	{"host": `^oidc\.[a-z]{2}(-[a-z]+)+-[0-9]\.amazonaws\.com$`, "path": `^/token$`},
	{"host": `^[a-z0-9-]+\.mcp\.cloudflare\.com$`, "path": `^/token$`},
]

allow if signs_in

reason := sprintf("a request for a token at %v", [input.http.host]) if signs_in

# The end of the path is asked about first: the table is long, and few calls of an agent ask for a token.
signs_in if {
	input.http.method == "POST"
	ends_as_token_endpoint
	input.http.scheme == "https"
	unlisted
	input.http.body_kind in {"form", "json"}
	not input.http.body_type_mismatch
	input.http.body_size <= limit_bytes
	input.http.url_bytes <= url_limit_bytes
	token_endpoint
}

# What a catalogue lists has its own name and effect.
unlisted if input.tool == "http"

unlisted if input.operation == "unlisted_post"

token_endpoint if {
	some beginning in hosts[input.http.host]
	below(input.http.path, beginning)
}

token_endpoint if {
	some shape in shapes
	regex.match(shape.host, input.http.host)
	regex.match(shape.path, input.http.path)
}

below(path, beginning) if path == beginning

below(path, beginning) if startswith(path, concat("", [trim_suffix(beginning, "/"), "/"]))

ends_as_token_endpoint if {
	parts := split(trim_suffix(input.http.path, "/"), "/")
	parts[count(parts) - 1] in endpoints
}

# GoCardless: the pair of tokens of a bank account's data.
ends_as_token_endpoint if {
	input.http.host == "bankaccountdata.gocardless.com"
	input.http.path in {"/api/v2/token/new", "/api/v2/token/new/", "/api/v2/token/refresh", "/api/v2/token/refresh/"}
}
