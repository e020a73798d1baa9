# Allows completions by known model providers, so that an agent's own model calls do not wait for a person. The calls are
# recorded, and policies about content still apply.
#
# The policy lists documented endpoints: completions, embeddings, rankings and token counts, over https. It holds a completion that
# asks the provider to act by itself (hosted search, remote MCP servers, code execution), because the gate does not see
# what the provider then does. A body that was not read as JSON is no completion: its members are unknown. A local server
# (Ollama, vLLM) counts where the allowlist names its host as private.
package headgate.defaults.model_providers

import rego.v1

openai := {"chat/completions", "completions", "embeddings", "moderations", "responses", "responses/input_tokens"}

anthropic := {"messages", "messages/count_tokens", "complete"}

either := openai | anthropic

cohere := {
	"/v1/": {"chat", "generate", "embed", "rerank", "classify", "tokenize", "detokenize"},
	"/v2/": {"chat", "embed", "rerank"},
	"/compatibility/v1/": {"chat/completions", "embeddings"},
}

# Host → prefix of the path → what may follow it.
providers := {
	"api.openai.com": {"/v1/": openai},
	"eu.api.openai.com": {"/v1/": openai},
	"us.api.openai.com": {"/v1/": openai},
	"chatgpt.com": {"/backend-api/codex/": {"responses"}},
	"api.anthropic.com": {"/v1/": anthropic},
	"api.mistral.ai": {"/v1/": openai, "/v1/fim/": {"completions"}},
	"api.groq.com": {"/openai/v1/": openai},
	"openrouter.ai": {"/api/v1/": either},
	"generativelanguage.googleapis.com": {"/v1beta/openai/": openai},
	"api.x.ai": {"/v1/": either},
	"api.deepseek.com": {
		"/": {"chat/completions", "completions"},
		"/v1/": {"chat/completions", "completions"},
		"/beta/": {"chat/completions", "completions"},
		"/anthropic/v1/": {"messages"},
	},
	"api.together.xyz": {"/v1/": openai | {"rerank"}},
	"api.together.ai": {"/v1/": openai | {"rerank"}},
	"api.fireworks.ai": {"/inference/v1/": either | {"rerank"}},
	"api.cerebras.ai": {"/v1/": openai},
	"integrate.api.nvidia.com": {"/v1/": openai},
	"api.perplexity.ai": {"/": {"chat/completions", "async/chat/completions"}, "/v1/": openai},
	"api.cohere.com": cohere,
	"api.cohere.ai": cohere,
	"api.voyageai.com": {"/v1/": {"embeddings", "contextualizedembeddings", "multimodalembeddings", "rerank"}},
	"api.jina.ai": {"/v1/": {"embeddings", "rerank"}},
	"router.huggingface.co": {"/v1/": {"chat/completions", "responses"}},
	"api.deepl.com": {"/v2/": {"translate"}},
	"api-free.deepl.com": {"/v2/": {"translate"}},
}

# Providers whose hosts or paths hold names of the customer's: patterns of both.
shapes := [
	{
		"host": `^generativelanguage\.googleapis\.com$`,
		"path": `^/v1(alpha|beta)?/models/[^/:]+:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$`,
	},
	{
		"host": `^([a-z0-9-]+-)?aiplatform\.googleapis\.com$`,
		"path": `^/v1(beta1)?/projects/[^/]+/locations/[^/]+/publishers/[^/]+/models/[^/:]+:(generateContent|streamGenerateContent|countTokens|rawPredict|streamRawPredict)$`,
	},
	{
		"host": `^[a-z0-9-]+\.(openai|cognitiveservices|services\.ai)\.azure\.com$`,
		"path": `^/(openai/deployments/[^/]+/(chat/completions|completions|embeddings)|openai/(v1/)?(chat/completions|embeddings|responses)|models/(chat/completions|embeddings)|anthropic/v1/messages(/count_tokens)?)$`,
	},
	{
		"host": `^bedrock-runtime(-fips)?\.[a-z]{2}(-[a-z]+)+-[0-9]\.amazonaws\.com$`,
		"path": `^/(model/[^/]+/(invoke|invoke-with-response-stream|converse|converse-stream)|openai/v1/chat/completions)$`,
	},
	{
		"host": `^router\.huggingface\.co$`,
		"path": `^/hf-inference/models/[^/]+(/[^/]+)?(/pipeline/[a-z-]+|/v1/chat/completions)?$`,
	},
	{
		"host": `^api-inference\.huggingface\.co$`,
		"path": `^/models/[^/]+(/[^/]+)?(/v1/chat/completions)?$`,
	},
]

# Of a private host: paths that other services hardly have. On this machine: all that Ollama and vLLM offer; elsewhere
# POST /v1/messages or /api/chat may be a message to people.
private_paths := {"/v1/chat/completions", "/v1/embeddings"}

loopback_paths := {concat("", ["/v1/", name]) | some name in either} |
	{"/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show"}

loopback := {"127.0.0.1", "::1", "localhost"}

allow if plain

reason := sprintf("a completion by %v", [input.http.host]) if plain

plain if {
	completion
	count(hosted) == 0
	not unread
}

require_approval contains message if {
	completion
	unread
	message := sprintf("the gate cannot read this request to %v as a completion", [input.http.host])
}

unread if {
	not over_a_socket
	input.tool != "llm"
	not asks_for_no_text
}

# What an address answers that is no text of a model.
no_text := {
	"embeddings", "moderations", "responses/input_tokens", "messages/count_tokens", "embed", "rerank", "classify",
	"tokenize", "detokenize", "contextualizedembeddings", "multimodalembeddings", "translate",
}

no_text_local := {"/v1/embeddings", "/v1/moderations", "/v1/responses/input_tokens", "/v1/messages/count_tokens"} |
	{"/api/embed", "/api/embeddings", "/api/show"}

no_text_shapes := [
	`:(countTokens|embedContent|batchEmbedContents)$`,
	`^/(openai/deployments/[^/]+|openai|openai/v1|models)/embeddings$`,
	`^/anthropic/v1/messages/count_tokens$`,
	`^/hf-inference/models/[^/]+(/[^/]+)?/pipeline/(feature-extraction|sentence-similarity)$`,
	# Embeddings, rankings and pictures.
	`^/model/((us|us-gov|eu|apac|jp|au|ca|global)\.)?(amazon\.(titan-embed|titan-image|rerank|nova-canvas|nova-[0-9]+-multimodal-embeddings)-|cohere\.(embed|rerank)-|twelvelabs\.marengo-embed-|stability\.)[^/]+/invoke$`,
]

# Embeddings at Bedrock by a profile's ARN, which does not name the model: each set of members is that of one form.
embeddings_of_profiles := [
	{
		"required": {"texts", "input_type"},
		"known": {"texts", "input_type", "truncate", "embedding_types", "output_dimension", "max_tokens"},
	},
	{
		"required": {"taskType", "singleEmbeddingParams"},
		"known": {"schemaVersion", "taskType", "singleEmbeddingParams"},
	},
]

asks_for_no_text if {
	some prefix, _ in providers[input.http.host]
	startswith(input.http.path, prefix)
	trim_prefix(input.http.path, prefix) in no_text
}

asks_for_no_text if {
	not providers[input.http.host]
	input.http.path in no_text_local
}

asks_for_no_text if {
	some shape in shapes
	regex.match(shape.host, input.http.host)
	some ending in no_text_shapes
	regex.match(ending, input.http.path)
}

asks_for_no_text if {
	regex.match(`^bedrock-runtime(-fips)?\.[a-z0-9-]+\.amazonaws\.com$`, input.http.host)
	regex.match(`^/model/arn(:|%3[Aa])[^/]+/invoke$`, input.http.path)
	some form in embeddings_of_profiles
	members := object.keys(body)
	count(form.required - members) == 0
	count(members - form.known) == 0
	object.get(body, "taskType", "SINGLE_EMBEDDING") == "SINGLE_EMBEDDING"
}

require_approval contains message if {
	completion
	count(hosted) > 0
	message := sprintf("the completion lets the provider act by itself: %v", [concat(", ", sort(hosted))])
}

completion if {
	input.tool in {"http", "llm", "aws"}
	input.http.method == "POST"
	input.http.body_kind == "json"
	is_object(body)
	not input.http.body_type_mismatch
	known_endpoint
}

# The same in messages of a WebSocket: OpenAI's Responses API in WebSocket mode (Codex) and the Realtime API. The gate
# recognises them by a documented address and event.
completion if {
	over_a_socket
	input.http.scheme == "https"
	input.llm.provider in {"openai", "azure"}
	is_object(body)
}

over_a_socket if {
	input.tool == "websocket"
	input.operation == "send"
	input.params.kind == "json"
}

known_endpoint if {
	input.http.scheme == "https"
	some prefix, names in providers[input.http.host]
	startswith(input.http.path, prefix)
	trim_prefix(input.http.path, prefix) in names
}

known_endpoint if {
	input.http.scheme == "https"
	some shape in shapes
	regex.match(shape.host, input.http.host)
	regex.match(shape.path, input.http.path)
}

known_endpoint if {
	local_path
	some destination in data.allowlist.destinations
	destination.private == true
	lower(destination.host) == input.http.host
	input.http.port in object.get(destination, "ports", [input.http.port])
}

local_path if input.http.path in private_paths

local_path if {
	input.http.host in loopback
	input.http.path in loopback_paths
}

body := input.params.body if not over_a_socket

body := input.params.message if {
	over_a_socket
	input.llm.api == "responses"
}

body := object.get(input.params.message, part, {}) if {
	over_a_socket
	input.llm.api == "realtime"
	input.llm.event in {"session.update", "response.create"}
	part := split(input.llm.event, ".")[0]
}

body := {"input": [input.params.message.item]} if input.llm.event == "conversation.item.create"

body := {} if {
	over_a_socket
	input.llm.api == "realtime"
	not carries_a_body
}

carries_a_body if input.llm.event in {"session.update", "response.create", "conversation.item.create"}

# What a request turns on at the provider: members of the body, kinds of tools, names of models. Some servers ignore case
# and underscores in the names of members.
hosted contains name if {
	some name, value in body
	value != null
	folded(name) in {
		"mcpservers", "websearchoptions", "plugins", "container", "datasources", "cachedcontent", "preset",
		# xAI's live search; Cohere's search of the web and of accounts that were connected there.
		"searchparameters", "connectors",
	}
}

# What the model is asked to find goes out as queries, and pages that anybody can write come back as its answer.
hosted contains "a search of the web by Perplexity" if input.http.host == "api.perplexity.ai"

hosted contains name if {
	some name, _ in body
	not name in read_below
	folded(name) in {folded(known) | some known in read_below}
}

read_below := {
	"tools", "toolConfig", "tool_config", "model", "models", "fallbacks", "prompt", "extra_body", "additionalModelRequestFields",
}

folded(name) := replace(lower(name), "_", "")

hosted contains "a stored prompt" if is_object(body.prompt)

# Items of OpenAI's responses: one approves a call that the provider then makes.
hosted contains "mcp_approval_response" if {
	some item in items
	item.type == "mcp_approval_response"
}

# Those of a realtime session are few.
hosted contains "an item that this policy does not know" if {
	input.llm.api == "realtime"
	some item in items
	not known_item(item)
}

known_item(item) if item.type in {"message", "function_call", "function_call_output"}

items := body.input if is_array(body.input)

else := []

# Gemini's, at its OpenAI-compatible endpoint.
hosted contains sprintf("extra_body.google.%v", [name]) if {
	some name, _ in body.extra_body.google
	not name in {"thinking_config", "thought_tag_marker"}
}

# Items of OpenAI's responses may bring tools, too.
tool_lists := array.concat(
	[
		object.get(body, "tools", null),
		object.get(body, ["additionalModelRequestFields", "tools"], null),
	],
	[item.tools | some item in items],
)

hosted contains "tools in a form that this policy does not know" if {
	some tools in tool_lists
	tools != null
	not is_array(tools)
}

hosted contains kind_of(tool) if {
	some tools in tool_lists
	is_array(tools)
	some tool in tools
	not run_by_the_client(tool)
}

# Bedrock's form.
hosted contains kind_of(tool) if {
	some tool in body.toolConfig.tools
	not holds_only(tool, {"toolSpec", "cachePoint"})
}

model_names contains body.model

model_names contains input.llm.model if over_a_socket

model_names contains name if {
	is_array(body.models)
	some name in body.models
}

# OpenRouter's, in Anthropic's form.
model_names contains name if {
	is_array(body.fallbacks)
	some name in body.fallbacks
}

model_names contains name if {
	is_array(body.fallbacks)
	some fallback in body.fallbacks
	name := fallback.model
}

hosted contains "models in a form that this policy does not know" if {
	some member in {"models", "fallbacks"}
	models := object.get(body, member, null)
	models != null
	not is_array(models)
}

hosted contains model if {
	some model in model_names
	is_string(model)
	regex.match(`(?i):online(:|$)|(^|/)compound(-|$)|-search(-|$)|deep-research|(^|/)sonar(-|$)|@preset/`, model)
}

holds_only(tool, names) if {
	is_object(tool)
	count(tool) > 0
	every name in object.keys(tool) {
		name in names
	}
}

kind_of(tool) := tool.type if is_string(tool.type)

else := concat(", ", sort(object.keys(tool))) if is_object(tool)

else := "a tool that is no object"

run_by_the_client(tool) if tool.type in {"function", "custom", "local_shell", "apply_patch"}

# OpenAI's and Codex' search of an index that the provider keeps: nothing is fetched for this request. Other providers
# do not know the member and search.
run_by_the_client(tool) if {
	regex.match(`^(((eu|us)\.)?api\.openai|chatgpt)\.com$`, input.http.host)
	tool.type == "web_search"
	tool.external_web_access == false
}

# Anthropic's: without a type, or a dated one that the client runs.
run_by_the_client(tool) if {
	is_string(tool.name)
	is_object(tool.input_schema)
	not tool.type
}

run_by_the_client(tool) if regex.match(`^(bash|text_editor|computer|memory)_[0-9]{8}$`, tool.type)

# Cohere's, of its first version.
run_by_the_client(tool) if holds_only(tool, {"name", "description", "parameter_definitions"})

# Gemini's.
run_by_the_client(tool) if holds_only(tool, {"functionDeclarations", "function_declarations"})
