import type { IncomingHttpHeaders } from 'node:http'
import { readSecrets, type Secret } from './secrets.ts'

/** One request as it came. `now` is milliseconds since 1970. */
export interface Delivery {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  readonly now: number
}

/** The sender's own id of the event, stable over its retries, and the type that handlers are chosen by. */
export interface Accepted {
  readonly id: string
  readonly type: string
}

/**
 * Why a delivery is not taken. `signature`: it is not shown to come from the sender, and the answer is 401. `malformed`:
 * it does, but is no event, and the answer is 400. The detail is for logs and for the 400.
 */
export interface Rejected {
  readonly rejected: 'signature' | 'malformed'
  readonly detail: string
}

export type Verdict = Accepted | Rejected

export type Verify = (delivery: Delivery) => Verdict

/** What every preset takes. */
export interface SourceOptions {
  /**
   * The shared secret. A string may hold several, separated by commas, and so may an array: each of them verifies, so
   * that a secret can be rotated without losing an event.
   */
  secret: Secret
  /**
   * Instead of handlers: the address that every event of the source is posted to, with the body's bytes as they came.
   * The event counts as processed when a 2xx comes back.
   */
  forwardTo?: string
}

/** How one sender's requests are verified and identified. A plain object, so that it can be spread and extended. */
export interface Scheme {
  /** The preset's name. */
  readonly name: string
  /** Whether there is a secret to verify by; without one the source cannot be used. */
  readonly hasSecret: boolean
  readonly verify: Verify
  /** The same scheme with other secrets. */
  readonly withSecrets: (secrets: readonly string[]) => Scheme
  /** Types are `kind.action`, and a handler for `kind` alone is meant for all of its actions. */
  readonly typesHaveActions?: boolean
  readonly forwardTo?: string
}

interface Definition {
  name: string
  options: SourceOptions
  typesHaveActions?: boolean
  /** Makes the check for the given secrets; there is at least one. */
  verifier: (secrets: readonly string[]) => Verify
}

/** Builds a scheme: its secrets are held by the check's closure and appear on no property. */
export function createScheme(definition: Definition): Scheme {
  const { name, options, typesHaveActions, verifier } = definition
  const withSecrets = (secrets: readonly string[]): Scheme => ({
    name,
    hasSecret: secrets.length > 0,
    verify: secrets.length > 0 ? verifier(secrets) : () => refuse(`the source has no secret`),
    withSecrets,
    ...(typesHaveActions && { typesHaveActions }),
    ...(options.forwardTo !== undefined && { forwardTo: options.forwardTo }),
  })
  return withSecrets(readSecrets(options.secret))
}

export function refuse(detail: string): Rejected {
  return { rejected: 'signature', detail }
}

export function malformed(detail: string): Rejected {
  return { rejected: 'malformed', detail }
}
