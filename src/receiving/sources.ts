import { isTypeOrPattern } from '../events/type-pattern.ts'
import { isRange } from '../network/egress.ts'
import { type Configuration, ConfigurationError } from '../config/environment.ts'
import type { ReceivingConfig } from './config.ts'
import { faultOfTarget } from './forward.ts'
import { hmac } from './schemes/hmac.ts'
import type { Scheme } from './schemes/scheme.ts'

/** The source that is always there, with the secret of the environment unless the module gives it another. */
const builtIn = 'provider'
const secretFrom = 'the setting `WEBHOOK_SECRET`'
/** Events. */
const mostPerSecond = 1_000_000
const nameForm = /^[a-z0-9][a-z0-9_-]{0,63}$/i

/**
 * The sources by name.
 * @throws ConfigurationError that names every source that cannot be used.
 */
export function readSources(
  configured: ReceivingConfig['sources'],
  {
    webhookSecrets = [],
    production = false,
  }: Pick<Configuration, 'webhookSecrets'> & { production?: boolean },
): ReadonlyMap<string, Scheme> {
  const faults: string[] = []
  const sources = new Map<string, Scheme>([
    [builtIn, { ...hmac({ header: 'x-signature', secret: webhookSecrets }), secretFrom }],
  ])
  for (const [name, given] of Object.entries(configured ?? {})) {
    const fault = faultOf(given)
    if (!nameForm.test(name))
      faults.push(
        `receiving.sources: ${JSON.stringify(name)} is no name for a source: letters, digits, _ and -, at most 64`,
      )
    else if (fault) faults.push(`receiving.sources.${name} ${fault}`)
    // A spread scheme may hold more than it was made with, such as forwardTo: keep that.
    else
      sources.set(
        name,
        name === builtIn && !given.hasSecret
          ? { ...given, ...given.withSecrets(webhookSecrets), secretFrom }
          : given,
      )
  }
  for (const [name, { hasSecret, weakness }] of sources) {
    // The settings report a weak WEBHOOK_SECRET.
    if (production && weakness?.refused && configured?.[name]?.hasSecret)
      faults.push(`receiving.sources.${name} has a secret that ${weakness.text}`)
    if (!hasSecret)
      faults.push(
        name === builtIn
          ? 'WEBHOOK_SECRET is missing'
          : `receiving.sources.${name} has no secret: set the environment variable that it reads`,
      )
  }
  if (faults.length > 0) throw new ConfigurationError(faults)
  return sources
}

/** Describes what is weak about the sources of the configuration module. `readSources` refuses secrets that are too weak. */
export function weakSources(configured: ReceivingConfig['sources'], production: boolean): string[] {
  const found: string[] = []
  for (const [name, scheme] of Object.entries(configured ?? {})) {
    const { weakness, caution } = (scheme ?? {}) as Partial<Scheme>
    if (weakness && !(production && weakness.refused))
      found.push(`receiving.sources.${name} has a secret that ${weakness.text}`)
    if (caution !== undefined) found.push(`receiving.sources.${name} ${caution}`)
  }
  return found
}

function faultOf(given: unknown): string | undefined {
  const { verify, withSecrets, forwardTo, rateLimit, addresses, drop } = (given ?? {}) as Partial<
    Record<keyof Scheme, unknown>
  >
  if (typeof verify !== 'function' || typeof withSecrets !== 'function')
    return 'is no scheme: use hmac(), standardWebhooks() or a preset such as stripe()'
  if (
    rateLimit !== undefined &&
    !(typeof rateLimit === 'number' && rateLimit > 0 && rateLimit <= mostPerSecond)
  )
    return `has a rateLimit that is no number of events a second above 0 and up to ${mostPerSecond}`
  if (Array.isArray(addresses) && !addresses.every((one) => isRange(String(one))))
    return 'has `addresses` that are no addresses or CIDR ranges'
  if (Array.isArray(drop) && !drop.every((one) => isTypeOrPattern(String(one))))
    return 'has a `drop` with an invalid pattern: a `*` stands for whole parts between full stops'
  return forwardTo === undefined ? undefined : faultOfTarget(forwardTo)
}
