// The table of vendors: clients/cases/vendors.json says the same, and a test looks.

export interface VendorLimit {
  limit: string;
  /** The header. */
  remaining?: string;
  /** Or that of used/limit. */
  used?: string;
  /** The first that is there. */
  reset: string[];
  /** Nothing passes until its reset; else a bucket, which is full then. */
  window: boolean;
  /** The header that names another limit than the usual. */
  resource?: string;
  usual?: string;
}

export const REFUSALS = [403, 429, 503];
export const PAUSES: { header: string; unit: 'ms' | 's' }[] = [
  { header: 'retry-after-ms', unit: 'ms' }, // OpenAI, Azure OpenAI
  { header: 'x-ms-retry-after-ms', unit: 'ms' }, // Azure Cosmos DB
  { header: 'retry-after', unit: 's' }, // HTTP (RFC 9110)
];
export const LIMITS: VendorLimit[] = [
  { limit: 'requests', remaining: 'x-ratelimit-remaining-requests', reset: ['x-ratelimit-reset-requests'], window: false }, // OpenAI, Azure OpenAI, Groq
  { limit: 'tokens', remaining: 'x-ratelimit-remaining-tokens', reset: ['x-ratelimit-reset-tokens'], window: false }, // OpenAI, Azure OpenAI, Groq
  { limit: 'tokens', remaining: 'x-ratelimit-remaining-project-tokens', reset: ['x-ratelimit-reset-project-tokens'], window: false }, // OpenAI: the project's own
  { limit: 'requests', remaining: 'anthropic-ratelimit-requests-remaining', reset: ['anthropic-ratelimit-requests-reset'], window: false }, // Anthropic
  { limit: 'tokens', remaining: 'anthropic-ratelimit-tokens-remaining', reset: ['anthropic-ratelimit-tokens-reset'], window: false }, // Anthropic: whichever of the two below is nearer
  { limit: 'input_tokens', remaining: 'anthropic-ratelimit-input-tokens-remaining', reset: ['anthropic-ratelimit-input-tokens-reset'], window: false }, // Anthropic
  { limit: 'output_tokens', remaining: 'anthropic-ratelimit-output-tokens-remaining', reset: ['anthropic-ratelimit-output-tokens-reset'], window: false }, // Anthropic
  { limit: 'requests', remaining: 'x-ratelimit-remaining-req-minute', reset: [], window: false }, // Mistral
  { limit: 'tokens', remaining: 'x-ratelimit-remaining-tokens-minute', reset: [], window: false }, // Mistral
  { limit: 'requests', remaining: 'x-ratelimit-remaining', reset: ['x-ratelimit-reset-after', 'x-ratelimit-reset'], window: true, resource: 'x-ratelimit-resource', usual: 'core' }, // GitHub, Reddit, Discord, Atlassian and many more
  { limit: 'requests', remaining: 'x-rate-limit-remaining', reset: ['x-rate-limit-reset'], window: true }, // X, Okta
  { limit: 'requests', remaining: 'x-ratelimit-requests-remaining', reset: ['x-ratelimit-requests-reset'], window: true }, // Linear
  { limit: 'points', remaining: 'x-ratelimit-complexity-remaining', reset: ['x-ratelimit-complexity-reset'], window: true }, // Linear
  { limit: 'requests', remaining: 'x-hubspot-ratelimit-remaining', reset: [], window: false }, // HubSpot
  { limit: 'requests', remaining: 'ratelimit-remaining', reset: ['ratelimit-reset'], window: true }, // GitLab, Zendesk, drafts of RateLimit up to 6
  { limit: 'requests', used: 'x-shopify-shop-api-call-limit', reset: [], window: false }, // Shopify, by REST: 32/40 is used
];
export const FIELDS = ['ratelimit'];
export const BODIES: { limit: string; remaining: string[] }[] = [
  { limit: 'points', remaining: ['extensions', 'cost', 'throttleStatus', 'currentlyAvailable'] }, // Shopify, by GraphQL
];
/** Of a refusal that says in its body alone why. */
export const MESSAGES: { statuses: number[]; header: string; text: string; pauseMs: number }[] = [
  { statuses: [403, 429], header: 'x-github-request-id', text: 'secondary rate limit', pauseMs: 60_000 }, // GitHub: a secondary limit without Retry-After
];
export const MOST_PAUSE_MS = 86_400_000;
