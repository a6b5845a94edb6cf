package weir

import "time"

// The table of vendors: clients/cases/vendors.json says the same, and a test looks.

type vendorLimit struct {
	limit     string
	remaining string   // the header
	used      string   // or that of used/limit
	reset     []string // the first that is there
	window    bool     // nothing passes until its reset; else a bucket, which is full then
	resource  string   // the header that names another limit than the usual
	usual     string
}

var (
	vendorRefusals = []int{403, 429, 503}
	vendorPauses   = []struct{ header, unit string }{
		{"retry-after-ms", "ms"},      // OpenAI, Azure OpenAI
		{"x-ms-retry-after-ms", "ms"}, // Azure Cosmos DB
		{"retry-after", "s"},          // HTTP (RFC 9110)
	}
	vendorLimits = []vendorLimit{
		{limit: "requests", remaining: "x-ratelimit-remaining-requests", reset: []string{"x-ratelimit-reset-requests"}},                                                                         // OpenAI, Azure OpenAI, Groq
		{limit: "tokens", remaining: "x-ratelimit-remaining-tokens", reset: []string{"x-ratelimit-reset-tokens"}},                                                                               // OpenAI, Azure OpenAI, Groq
		{limit: "tokens", remaining: "x-ratelimit-remaining-project-tokens", reset: []string{"x-ratelimit-reset-project-tokens"}},                                                               // OpenAI: the project's own
		{limit: "requests", remaining: "anthropic-ratelimit-requests-remaining", reset: []string{"anthropic-ratelimit-requests-reset"}},                                                         // Anthropic
		{limit: "tokens", remaining: "anthropic-ratelimit-tokens-remaining", reset: []string{"anthropic-ratelimit-tokens-reset"}},                                                               // Anthropic: whichever of the two below is nearer
		{limit: "input_tokens", remaining: "anthropic-ratelimit-input-tokens-remaining", reset: []string{"anthropic-ratelimit-input-tokens-reset"}},                                             // Anthropic
		{limit: "output_tokens", remaining: "anthropic-ratelimit-output-tokens-remaining", reset: []string{"anthropic-ratelimit-output-tokens-reset"}},                                          // Anthropic
		{limit: "requests", remaining: "x-ratelimit-remaining-req-minute"},                                                                                                                      // Mistral
		{limit: "tokens", remaining: "x-ratelimit-remaining-tokens-minute"},                                                                                                                     // Mistral
		{limit: "requests", remaining: "x-ratelimit-remaining", reset: []string{"x-ratelimit-reset-after", "x-ratelimit-reset"}, window: true, resource: "x-ratelimit-resource", usual: "core"}, // GitHub, Reddit, Discord, Atlassian and many more
		{limit: "requests", remaining: "x-rate-limit-remaining", reset: []string{"x-rate-limit-reset"}, window: true},                                                                           // X, Okta
		{limit: "requests", remaining: "x-ratelimit-requests-remaining", reset: []string{"x-ratelimit-requests-reset"}, window: true},                                                           // Linear
		{limit: "points", remaining: "x-ratelimit-complexity-remaining", reset: []string{"x-ratelimit-complexity-reset"}, window: true},                                                         // Linear
		{limit: "requests", remaining: "x-hubspot-ratelimit-remaining"},                                                                                                                         // HubSpot
		{limit: "requests", remaining: "ratelimit-remaining", reset: []string{"ratelimit-reset"}, window: true},                                                                                 // GitLab, Zendesk, drafts of RateLimit up to 6
		{limit: "requests", used: "x-shopify-shop-api-call-limit"},                                                                                                                              // Shopify, by REST: 32/40 is used
	}
	vendorFields = []string{"ratelimit"}
	vendorBodies = []struct {
		limit     string
		remaining []string
	}{
		{"points", []string{"extensions", "cost", "throttleStatus", "currentlyAvailable"}}, // Shopify, by GraphQL
	}
	vendorMessages = []struct {
		statuses     []int
		header, text string
		pause        time.Duration
	}{
		{[]int{403, 429}, "x-github-request-id", "secondary rate limit", 60000 * time.Millisecond}, // GitHub: a secondary limit without Retry-After
	}
)
