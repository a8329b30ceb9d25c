import type { Settings } from './settings.ts'

/** Bounds for secrets that people choose, in bytes: production refuses or warns of shorter ones. */
interface Strength {
  refused: number
  warned: number
}

/** For a secret that is shared with a sender of webhooks. Some senders choose it, and choose short ones. */
export const sharedSecret: Strength = { refused: 6, warned: 16 }

/** Fewer distinct characters are a pattern. Of 32 random hexadecimal digits fewer than 8 differ once in 27 million times. */
const leastDistinct = { long: 8, short: 5 }
const long = 32

/** Placeholders for secrets in documentation. */
const placeholder = /change[-_ ]?(?:me|this)|replace[-_ ]?(?:me|this)|your[-_ ]?(?:secret|key)|placeholder/i

/**
 * Returns why a secret is not random, as words that follow its name: fewer than 8 different characters (5 if it is shorter
 * than 32), one piece repeated four times or more, or a placeholder such as `change-me`. Otherwise returns `undefined`.
 */
export function patternOf(secret: string): string | undefined {
  const distinct = new Set(secret).size
  const least = secret.length >= long ? leastDistinct.long : leastDistinct.short
  if (distinct < least) return `has only ${distinct} different ${distinct === 1 ? 'character' : 'characters'}`
  for (let unit = 1; unit <= secret.length / 4; unit++) {
    if (secret.length % unit === 0 && secret.slice(unit) === secret.slice(0, -unit))
      return `repeats the same ${unit} characters`
  }
  return placeholder.test(secret) ? 'is a placeholder' : undefined
}

/** Whether half of a secret or more is one sequence of consecutive characters, such as `0123456789` or `abcdefgh`. */
function isSequence(secret: string): boolean {
  let run = 1
  let longest = 1
  for (let at = 1; at < secret.length; at++) {
    run = secret.charCodeAt(at) === secret.charCodeAt(at - 1) + 1 ? run + 1 : 1
    longest = Math.max(longest, run)
  }
  return longest >= 8 && longest >= secret.length / 2
}

export interface Weakness {
  text: string
  /** Whether production refuses to start with it. */
  refused: boolean
}

/**
 * Returns the weakness of one secret, as words that follow its name.
 * @param patterns whether production refuses a secret that is not random
 */
export function weaknessOf(secret: string, strength: Strength, patterns: boolean): Weakness | undefined {
  const bytes = Buffer.byteLength(secret)
  if (bytes < strength.refused) return { text: `is shorter than ${strength.refused} bytes`, refused: true }
  const pattern = patternOf(secret)
  if (pattern !== undefined) return { text: `${pattern} and can be guessed`, refused: patterns }
  if (isSequence(secret)) return { text: 'is a sequence of characters and can be guessed', refused: false }
  return bytes < strength.warned
    ? { text: `is shorter than ${strength.warned} bytes and can be guessed`, refused: false }
    : undefined
}

/**
 * Returns the weaknesses of the settings' secrets, as sentences. Only the newest of several secrets is refused, so that a
 * service with a weak secret can rotate it.
 */
export function weakSettings(settings: Partial<Settings>): Weakness[] {
  const { masterSecrets = [], webhookSecrets = [], adminApiKey } = settings
  const checks: [env: string, secrets: readonly string[], strength: Strength, patterns: boolean][] = [
    ['POSTERN_SECRET', masterSecrets, { refused: long, warned: long }, true],
    ['WEBHOOK_SECRET', webhookSecrets, sharedSecret, false],
    ['ADMIN_API_KEY', adminApiKey === undefined ? [] : [adminApiKey], { refused: 16, warned: 20 }, true],
  ]
  const found = checks.flatMap(([env, secrets, strength, patterns]) =>
    secrets.flatMap((secret, place) => {
      const weakness = weaknessOf(secret, strength, patterns)
      if (!weakness) return []
      const name = place === 0 ? env : `${env}: secret ${place + 1}`
      const advice = 'use a random one, such as the output of `openssl rand -base64 32`'
      return [{ text: `${name} ${weakness.text}: ${advice}`, refused: weakness.refused && place === 0 }]
    }),
  )
  for (const [index, [env, secrets]] of checks.entries()) {
    for (const [other, others] of checks.slice(index + 1)) {
      if (secrets.some((secret) => others.includes(secret)))
        found.push({
          text: `${env} and ${other} are the same secret: use a different one for each`,
          refused: false,
        })
    }
  }
  return found
}
