import type { Keyring } from '../crypto/keyring.ts'
import { anywhere, faultOfDestination } from '../network/egress.ts'
import { decodeKey } from './schemes/digest.ts'

/** An address for the events of a source, with your own secret. */
export interface ForwardTarget {
  url: string
  /**
   * Signs the requests by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Several secrets, in an array or separated by
   * commas, all sign, so that the receiver can change from one to the next at any time.
   */
  secret: string | readonly string[]
}

/** For an address alone, the secret is derived from POSTERN_SECRET; `postern sources` prints it. */
export type ForwardTo = string | ForwardTarget

const prefix = 'whsec_'
/** Standard Webhooks: between 192 and 512 bits. */
const bounds = { least: 24, most: 64 }
const purpose = 'forwarded-webhooks'

export function urlOf(target: ForwardTo): string {
  return typeof target === 'string' ? target : target.url
}

/** Returns the fault of a target as words that follow the source's name, without the secret; `undefined` if it is valid. */
export function faultOfTarget(given: unknown): string | undefined {
  const { url, secret } = (typeof given === 'string' ? { url: given } : (given ?? {})) as Partial<
    Record<'url' | 'secret', unknown>
  >
  if (typeof url !== 'string') return 'has a forwardTo that is not an http address'
  const fault = faultOfDestination(url, anywhere)
  if (fault) return `has a forwardTo that cannot be used: ${fault}`
  if (typeof given === 'string') return undefined
  const secrets = typeof secret === 'string' || Array.isArray(secret) ? split(secret) : []
  if (secrets.length === 0)
    return 'has a forwardTo without a secret: is its environment variable set? For an address alone, Postern derives a secret'
  if (!secrets.every((one) => typeof one === 'string' && readKey(one)))
    return `has a forwardTo whose secret is not ${prefix} and the base64 of ${bounds.least} to ${bounds.most} bytes`
  return undefined
}

/** Returns the signing keys, at least one. During a rotation of POSTERN_SECRET, each master key derives one. */
export function keysOf(
  target: ForwardTo,
  source: string,
  keyring: Keyring,
): readonly [Uint8Array, ...Uint8Array[]] {
  if (typeof target === 'string') return keyring.derived(source, purpose)
  const [first, ...others] = split(target.secret).flatMap((one) => readKey(one) ?? [])
  if (!first) throw new Error(`receiving.sources.${source} has a forwardTo without a secret`)
  return [first, ...others]
}

/** Returns a key in the format of the receiver's library. */
export function writeKey(key: Uint8Array): string {
  return prefix + Buffer.from(key).toString('base64')
}

function split(secret: string | readonly string[]): string[] {
  const given = typeof secret === 'string' ? secret.split(',').map((one) => one.trim()) : [...secret]
  return given.filter((one) => one !== '')
}

function readKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined
  const key = decodeKey(secret.slice(prefix.length))
  return key && key.length >= bounds.least && key.length <= bounds.most ? key : undefined
}

/** Removes user, password and query, which may be secrets. */
export function withoutCredentials(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
