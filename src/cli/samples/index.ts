import { github } from './github.ts'
import { provider } from './provider.ts'
import type { SignSample } from './sample.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'

/** The senders that `postern send` can play, by the name that `--source` takes. */
export const samples: Readonly<Record<string, SignSample>> = {
  provider,
  stripe,
  github,
  'standard-webhooks': standardWebhooks,
}
