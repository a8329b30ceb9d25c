// A source of every kind, with the keys of both sides. The keys guard nothing: they are written here so that the bytes
// of a failure can be sent again.
import * as presets from '../../src/index.ts'
import type { Scheme, TimedOptions } from '../../src/index.ts'

export interface FuzzedSource {
  /** Its name, and that of the sample that `postern send` would sign for it. */
  readonly name: string
  readonly signing: string
  readonly scheme: Scheme
}

/** The time that everything is signed at. */
export const signedAt = Date.parse('2026-03-01T12:00:00.000Z')
/** The bytes of a failure are to verify years later as well. */
const tolerance = 10 * 365 * 86_400

const shared = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`
const ed25519 = {
  signing: '14010dd7e3d31f013286ad717251256d4c6868024252428b233ca2642cd1da85',
  verifying: 'b0e921de6b79283962716a25f845b5507da21e2acfeb4a6269c850cf64668777',
}
const p256 = {
  signing:
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMlp1O/6kYwQ7JGxRAg0tI5xwebUyMzvnaXnVNQPYGBGhRANCAARK+MSj+1BaLKCcq62ulS60SBDeFUPNGBRZpLnEGxWzlhtzw5QK59KwgaBR1mI3X/RQFLFvMcS2aFSUbXOuMzzU',
  verifying:
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESvjEo/tQWiygnKutrpUutEgQ3hVDzRgUWaS5xBsVs5Ybc8OUCufSsIGgUdZiN1/0UBSxbzHEtmhUlG1zrjM81A==',
}

type Preset = (options: TimedOptions) => Scheme
const one = (
  name: string,
  preset: Preset,
  { signing, verifying } = { signing: shared, verifying: shared },
) => ({
  name,
  signing,
  scheme: preset({ secret: verifying, tolerance }),
})

export const sources: readonly FuzzedSource[] = [
  one('provider', (options) => presets.hmac({ header: 'x-signature', secret: options.secret })),
  one('adyen', presets.adyen, { signing: 'ab'.repeat(32), verifying: 'ab'.repeat(32) }),
  one('auth0', presets.auth0),
  one('cloud-events', presets.cloudEvents),
  one('event-grid', presets.eventGrid),
  one('bitbucket', presets.bitbucket),
  one('calendly', presets.calendly),
  one('discord', presets.discord, ed25519),
  one('docusign', presets.docusign),
  one('dropbox', presets.dropbox),
  one('github', presets.github),
  one('gitlab', presets.gitlab),
  one('hubspot', presets.hubspot),
  one('intercom', presets.intercom),
  one('linear', presets.linear),
  one('mailgun', presets.mailgun),
  one('meta', (options) => presets.meta({ ...options, verifyToken: 'fuzz' })),
  one('microsoft-graph', presets.microsoftGraph),
  one('notion', presets.notion),
  one('pagerduty', presets.pagerduty),
  one('paddle', presets.paddle),
  one('sendgrid', presets.sendgrid, p256),
  one('sentry', presets.sentry),
  one('shopify', presets.shopify),
  one('slack', presets.slack),
  one('square', presets.square),
  one('standard-webhooks', presets.standardWebhooks),
  one('stripe', presets.stripe),
  one('twilio', presets.twilio),
  one('typeform', presets.typeform),
  one('woocommerce', presets.woocommerce),
  one('x', presets.x),
  one('zendesk', presets.zendesk),
  one('zoom', presets.zoom),
  one('bytes', ({ secret }) =>
    presets.hmac({ header: 'x-signature', secret, id: 'digest', type: { always: 'bytes' }, mediaTypes: [] }),
  ),
  one('limited', ({ secret }) => presets.hmac({ header: 'x-signature', secret, rateLimit: 5 })),
]
