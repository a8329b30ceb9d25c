// All presets, by the names under which the configuration module imports them.
export { discord } from './discord.ts'
export { gitlab } from './gitlab.ts'
export { hmac, type HmacOptions } from './hmac.ts'
export { hubspot, type HubspotOptions } from './hubspot.ts'
export { mailgun } from './mailgun.ts'
export { meta, type MetaOptions } from './meta.ts'
export { microsoftGraph } from './microsoft-graph.ts'
export type { Scheme, SourceOptions, TimedOptions } from './scheme.ts'
export {
  bitbucket,
  calendly,
  dropbox,
  github,
  intercom,
  linear,
  paddle,
  stripe,
  typeform,
  woocommerce,
  x,
  zendesk,
  zoom,
} from './presets.ts'
export { sendgrid } from './sendgrid.ts'
export { shopify } from './shopify.ts'
export { slack } from './slack.ts'
export { square, type AddressedOptions } from './square.ts'
export { standardWebhooks } from './standard-webhooks.ts'
export { twilio } from './twilio.ts'
