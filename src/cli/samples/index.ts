import { bitbucket } from './bitbucket.ts'
import { calendly } from './calendly.ts'
import { discord } from './discord.ts'
import { dropbox } from './dropbox.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { hubspot } from './hubspot.ts'
import { intercom } from './intercom.ts'
import { linear } from './linear.ts'
import { mailgun } from './mailgun.ts'
import { meta } from './meta.ts'
import { microsoftGraph } from './microsoft-graph.ts'
import { paddle } from './paddle.ts'
import { provider } from './provider.ts'
import type { SignSample } from './sample.ts'
import { sendgrid } from './sendgrid.ts'
import { shopify } from './shopify.ts'
import { slack } from './slack.ts'
import { square } from './square.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'
import { twilio } from './twilio.ts'
import { typeform } from './typeform.ts'
import { woocommerce } from './woocommerce.ts'
import { x } from './x.ts'
import { zendesk } from './zendesk.ts'
import { zoom } from './zoom.ts'

/** The senders that `postern send` can play, by the name that `--source` takes. */
export const samples: Readonly<Record<string, SignSample>> = {
  provider,
  stripe,
  github,
  'standard-webhooks': standardWebhooks,
  bitbucket,
  calendly,
  discord,
  dropbox,
  gitlab,
  hubspot,
  intercom,
  linear,
  mailgun,
  meta,
  'microsoft-graph': microsoftGraph,
  paddle,
  sendgrid,
  shopify,
  slack,
  square,
  twilio,
  typeform,
  woocommerce,
  x,
  zendesk,
  zoom,
}
