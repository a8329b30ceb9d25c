import type { Keyring } from '../crypto/keyring.ts'
import { faultOfDestination } from '../network/destination.ts'
import { Egress } from '../network/egress.ts'
import { decodeDigest } from './schemes/digest.ts'

/** Where the events of a source are posted to, with a secret of one's own. */
export interface ForwardTarget {
  url: string
  /**
   * What Postern signs with, by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Several, in an array or
   * separated by commas, all sign, so that the receiver can change from one to the next at any time.
   */
  secret: string | readonly string[]
}

/** The address by itself is signed for with a secret that comes of POSTERN_SECRET; `postern sources` shows it. */
export type ForwardTo = string | ForwardTarget

const prefix = 'whsec_'
/** Standard Webhooks: between 192 and 512 bits. */
const bounds = { least: 24, most: 64 }
const purpose = 'forwarded-webhooks'
/** The addresses are the operator's own. */
const anywhere = new Egress({ allowPrivateNetwork: true })

export function urlOf(target: ForwardTo): string {
  return typeof target === 'string' ? target : target.url
}

/** What is wrong with it, in words that follow the source's name; the secret is not among them. */
export function faultOfTarget(given: unknown): string | undefined {
  const { url, secret } = (typeof given === 'string' ? { url: given } : (given ?? {})) as Partial<
    Record<'url' | 'secret', unknown>
  >
  if (typeof url !== 'string') return 'has a forwardTo that is no http address'
  const fault = faultOfDestination(url, anywhere)
  if (fault) return `has a forwardTo that cannot be used: ${fault}`
  if (typeof given === 'string') return undefined
  const secrets = typeof secret === 'string' || Array.isArray(secret) ? split(secret) : []
  if (secrets.length === 0)
    return 'has a forwardTo without a secret: is its environment variable set? Given as a text alone, the address is signed for with a secret of Postern’s'
  if (!secrets.every((one) => typeof one === 'string' && readKey(one)))
    return `has a forwardTo whose secret is not ${prefix} and the base64 of ${bounds.least} to ${bounds.most} bytes`
  return undefined
}

/** The keys that sign what is forwarded, at least one. While POSTERN_SECRET is rotated, both of its keys give one. */
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

/** As the receiver's library takes it. */
export function writeKey(key: Uint8Array): string {
  return prefix + Buffer.from(key).toString('base64')
}

function split(secret: string | readonly string[]): string[] {
  const given = typeof secret === 'string' ? secret.split(',').map((one) => one.trim()) : [...secret]
  return given.filter((one) => one !== '')
}

function readKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined
  const key = decodeDigest(secret.slice(prefix.length), 'base64')
  return key && key.length >= bounds.least && key.length <= bounds.most ? key : undefined
}
