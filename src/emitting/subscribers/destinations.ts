import { setTimeout } from 'node:timers/promises'
import { ConfigurationError } from '../../config/environment.ts'
import { invalidBody } from '../../errors.ts'
import type { Row } from '../../storage/tables.ts'
import type { DestinationDeclaration, EmittingConfig } from '../config.ts'
import type { Reach } from '../events/event.ts'
import { readRequestOptions, requestOptions } from './request-options.ts'

/** The declared destinations, by name. */
export type Destinations = ReadonlyMap<string, DestinationDeclaration>

export type Settings = Readonly<Record<string, unknown>>
export type Secrets = Readonly<Record<string, string>>

/** Maximum bytes of settings as JSON. */
const longestSettings = 16 * 1024

/** Milliseconds. */
const validateWithin = 10_000

const functions = ['validate', 'deliver'] as const

/** @throws ConfigurationError */
export function readDestinations(declared: EmittingConfig['destinations'] = {}): Destinations {
  const faults = Object.entries(declared).flatMap(([name, declaration]) => {
    const isComplete = functions.every((key) => typeof declaration[key] === 'function')
    if (isComplete && /^[a-z][a-z0-9-]{0,62}$/.test(name)) return []
    const rule = isComplete
      ? 'a name has up to 63 lowercase letters, digits and hyphens'
      : 'the functions validate and deliver are required'
    return [`emitting.destinations.${name}: ${rule}`]
  })
  if (faults.length > 0) throw new ConfigurationError(faults)
  return new Map(Object.entries(declared))
}

/** Closes their connections, and waits at most five seconds. Errors are ignored because the service is stopping. */
export async function closeDestinations(destinations: Destinations): Promise<void> {
  const closed = [...destinations.values()].map(async (declared) => declared.close?.())
  await Promise.race([Promise.allSettled(closed), setTimeout(5_000, undefined, { ref: false })])
}

const scheme = 'destination://'

/** The `url` of a subscriber with a destination. No registered URL can have this scheme. */
export const destinationUrl = (name: string): string => scheme + name

/** The name of a subscriber's destination; null for HTTP. */
export function destinationIn(url: string): string | null {
  return url.startsWith(scheme) ? url.slice(scheme.length) : null
}

/** Whether a subscriber's owner may see and change where its events go. */
export function isOpenToOwners(
  destinations: Destinations,
  { url }: Pick<Row<'subscribers'>, 'url'>,
): boolean {
  const name = destinationIn(url)
  return name === null || destinations.get(name)?.owners === true
}

/** The fields of a subscriber that do not apply to destinations. */
const onlyHttp = ['url', 'auth', 'tls', 'httpSignature', 'transformation', ...Object.keys(requestOptions)]

/** @param destination null for HTTP. @throws Problem `invalid-body` for fields of the other kind */
export function refuseForeign(destination: string | null, given: object): void {
  const foreign = destination === null ? ['settings', 'secrets'] : onlyHttp
  const found = foreign.find((name) => (given as Record<string, unknown>)[name] !== undefined)
  if (found === undefined) return
  const not = destination === null ? 'an HTTP endpoint' : `the destination ${destination}`
  throw invalidBody(`/${found}`, `${found} does not apply to ${not}.`)
}

/**
 * Validates a subscriber's settings with its destination's declaration.
 * @returns the column `request`
 * @throws Problem `invalid-body`
 */
export async function checkSettings(
  destinations: Destinations,
  name: string,
  settings: Settings,
  reach: Reach,
): Promise<string> {
  const declared = destinations.get(name)
  if (!declared || (reach !== 'all' && !declared.owners))
    throw invalidBody('/destination', `There is no destination ${name}.`)
  const json = writeSettings(settings)
  for (const [field, { secret, required }] of Object.entries(declared.fields ?? {})) {
    const isGiven = Object.hasOwn(settings, field)
    if (secret && isGiven)
      throw invalidBody(`/settings/${field}`, `${field} is a secret: send it in \`secrets\`.`)
    if (!secret && required && !isGiven)
      throw invalidBody(`/settings/${field}`, `The setting ${field} is missing.`)
  }
  let fault: unknown
  try {
    const late = setTimeout(validateWithin, 'The check of the settings took too long.', { ref: false })
    fault = await Promise.race([declared.validate(readRequestOptions(json).settings!), late])
  } catch (error) {
    fault = (error as Error | undefined)?.message ?? 'The settings are invalid.'
  }
  if (typeof fault === 'string') throw invalidBody('/settings', fault.slice(0, 500))
  return json
}

function writeSettings(settings: Settings): string {
  try {
    const json = JSON.stringify({ settings })
    if (Buffer.byteLength(json) <= longestSettings) return json
  } catch {
    // Nested too deeply for JSON.stringify.
  }
  throw invalidBody('/settings', `The settings must be at most ${longestSettings / 1024} KiB of JSON.`)
}

/** @throws Problem `invalid-body` if a required secret is missing */
export function requireSecrets(destinations: Destinations, name: string, secrets: Secrets): void {
  const fields = Object.entries(destinations.get(name)?.fields ?? {})
  const missing = fields.find(([field, { secret, required }]) => secret && required && !secrets[field])
  if (missing) throw invalidBody(`/secrets/${missing[0]}`, `The secret ${missing[0]} is missing.`)
}
