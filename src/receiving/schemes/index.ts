// All presets, by the names under which the configuration module imports them.
export { adyen } from './adyen.ts'
export {
  apiKey,
  type ApiKeyOptions,
  basic,
  type BasicOptions,
  bearer,
  type BearerOptions,
} from './credentials.ts'
export { cloudEvents, type CloudEventsOptions, eventGrid } from './cloud-events.ts'
export { paypal, type PaypalOptions } from './paypal.ts'
export { sns, type SnsOptions } from './sns.ts'
export { gitlab } from './gitlab.ts'
export { hmac, type HmacOptions } from './hmac.ts'
export { jwt, type JwtOptions } from './jwt.ts'
export { plaid, type PlaidOptions } from './plaid.ts'
export * from './public-keys.ts'
export { hubspot, type HubspotOptions } from './hubspot.ts'
export { mailgun } from './mailgun.ts'
export { meta, type MetaOptions } from './meta.ts'
export { microsoftGraph } from './microsoft-graph.ts'
export type { CommonOptions, Scheme, SourceOptions, TimedOptions } from './scheme.ts'
export * from './presets.ts'
export { slack } from './slack.ts'
export { standardWebhooks } from './standard-webhooks.ts'
export { twilio } from './twilio.ts'
