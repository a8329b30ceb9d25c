import { BoundedCache, shareRun } from '../../runtime/bounded-cache.ts'
import type { GuardedFetch } from '../../network/guarded-fetch.ts'
import { isKeyOf, rsaSha256 } from './digest.ts'
import { refuse, type Rejected, type FetchFirst } from './scheme.ts'
import { type KeyObject, X509Certificate } from 'node:crypto'
import { getCACertificates } from 'node:tls'

interface FetchedOptions<T> {
  /**
   * The request for a key of the cache. Default: the key is the address. The host must be one that the scheme fixes, never one that a
   * sender chooses.
   */
  request?: (key: string) => { url: string; init?: RequestInit }
  /** Reads the response's body. What it throws rejects the deliveries that need this key. */
  parse: (text: string, now: number) => T
  /** Milliseconds for which an answer is used before it is fetched again. Default: an hour. */
  lifetime?: number
}

interface Entry<T> {
  value: T
  /** When it was fetched, in milliseconds since 1970. */
  at: number
}

/** A request without a value: the host has no such key, or did not answer. */
interface Failure {
  at: number
  /** Why its host gave no answer. */
  error?: Error
  /** Why the answer is of no use. */
  detail?: string
}

const hour = 3_600_000

/** Keys that are cached, and requests at once. */
const mostKeys = 32
const mostAtOnce = 8
/** Milliseconds between two requests for one key, and after one without an answer. */
const betweenRequests = 30_000
const afterError = 5_000
/** Milliseconds for which a value is used although it cannot be fetched again. */
const longestUse = 24 * hour

/**
 * Keys and certificates of senders: few at once, cached, and each fetched once however many deliveries wait for it. Keys that a host
 * does not have are cached apart, so that nobody can push out the others.
 */
export class Fetched<T> {
  readonly #options: FetchedOptions<T>
  readonly #entries = new BoundedCache<string, Entry<T>>(mostKeys)
  readonly #failures = new BoundedCache<string, Failure>(mostKeys)
  readonly #running = new Map<string, Promise<void>>()

  constructor(options: FetchedOptions<T>) {
    this.#options = options
  }

  /** The value of a key; what fetches it; or a rejection if its host has none. @param now milliseconds since 1970 */
  at(key: string, now: number): { readonly value: T } | FetchFirst | Rejected {
    const entry = this.#entries.get(key)
    const failure = this.#failures.get(key)
    // A clock that was set back must not make a failure last, nor a value.
    const age = entry ? Math.abs(now - entry.at) : Infinity
    const waits = failure && Math.abs(now - failure.at) < (failure.error ? afterError : betweenRequests)
    const { lifetime = hour } = this.#options
    if (entry && (age < lifetime || (age < longestUse && waits))) return entry
    if (!failure || !waits) return this.#want(key, now)
    const { error, detail = 'its key does not exist' } = failure
    return error ? { fetchFirst: () => Promise.reject(error) } : refuse(detail)
  }

  /** What fetches a key again whose value lacks something, unless it was fetched just now. */
  again(key: string, now: number): FetchFirst | undefined {
    const last = Math.max(this.#entries.get(key)?.at ?? 0, this.#failures.get(key)?.at ?? 0)
    return Math.abs(now - last) < betweenRequests ? undefined : this.#want(key, now)
  }

  #want(key: string, now: number): FetchFirst {
    return {
      fetchFirst: (fetch) => {
        if (!this.#running.has(key) && this.#running.size >= mostAtOnce)
          return Promise.reject(new Error('too many keys are being fetched'))
        return shareRun(this.#running, key, () => this.#fetch(key, now, fetch))
      },
    }
  }

  async #fetch(key: string, now: number, fetch: GuardedFetch): Promise<void> {
    const { request = (url: string) => ({ url, init: undefined }), parse } = this.#options
    let text: string | undefined
    try {
      const { url, init } = request(key)
      const response = await fetch(url, init)
      const body = await response.text()
      if (response.status >= 500 || response.status === 429)
        throw new Error(`${new URL(url).host} answered ${response.status}`)
      if (response.ok) text = body
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      this.#failures.set(key, { at: now, error })
      // An old value goes on to verify while its host does not answer.
      if (Math.abs(now - (this.#entries.get(key)?.at ?? 0)) >= longestUse) throw error
      return
    }
    try {
      if (text === undefined) throw new Error('its key does not exist')
      this.#entries.set(key, { value: parse(text, now), at: now })
      this.#failures.delete(key)
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause)
      this.#failures.set(key, { at: now, detail })
    }
  }
}

/** A sender's certificate. Times in milliseconds since 1970. */
interface Certificate {
  readonly key: KeyObject
  /** When the certificate and its chain are valid. */
  readonly from: number
  readonly until: number
}

/** Maximum certificates in a chain. */
const longestChain = 5

/**
 * Reads a file of PEM certificates, the signer's first.
 * @param trusted undefined if the URL that it was fetched from is proof enough; otherwise its chain must end at one of Node.js's authorities
 * or one of `more` (PEM), and the signer's common name must match `name`
 * @throws Error if the key is not RSA with at least 2,048 bits, or no trusted authority issued the certificate
 */
function readCertificate(text: string, trusted?: { name: RegExp; more?: string | undefined }): Certificate {
  const [signer, ...others] = certificatesIn(text).slice(0, longestChain)
  if (!signer) throw new Error('there is no certificate')
  const { publicKey: key } = signer
  if (!isKeyOf(rsaSha256, key))
    throw new Error('the key of the certificate is not RSA with at least 2048 bits')
  if (trusted && !trusted.name.test(/^CN=(.*)$/m.exec(signer.subject)?.[1] ?? ''))
    throw new Error('the certificate is not that of the sender')
  const chain = trusted ? chainOf(signer, others, trusted.more) : [signer]
  return {
    key,
    from: Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom))),
    until: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
  }
}

/** Makes what finds the key of the certificate at an address, if it is valid at `now`. See `readCertificate`. */
export function certificates(
  trusted?: Parameters<typeof readCertificate>[1],
): (url: string, now: number) => { readonly key: KeyObject } | FetchFirst | Rejected {
  const fetched = new Fetched({ parse: (text) => readCertificate(text, trusted) })
  return (url, now) => {
    const found = fetched.at(url, now)
    if (!('value' in found)) return found
    const { from, until, key } = found.value
    return from <= now && now <= until ? { key } : refuse('the certificate is not valid at this time')
  }
}

function certificatesIn(text: string): X509Certificate[] {
  const [, ...pem] = text.split('-----BEGIN CERTIFICATE-----')
  return pem.map((one) => new X509Certificate(`-----BEGIN CERTIFICATE-----${one}`))
}

/** The certificates from the signer's to a trusted one. @throws Error */
function chainOf(signer: X509Certificate, others: readonly X509Certificate[], more = ''): X509Certificate[] {
  const roots = [...getCACertificates('default'), more].flatMap(certificatesIn)
  const chain = [signer]
  while (chain.length <= longestChain) {
    const last = chain.at(-1)!
    const isIssuer = (one: X509Certificate): boolean =>
      one.ca && last.checkIssued(one) && last.verify(one.publicKey)
    const root = roots.find(isIssuer)
    if (root) return [...chain, root]
    const next = others.find((one) => !chain.includes(one) && isIssuer(one))
    if (!next) break
    chain.push(next)
  }
  throw new Error('no trusted authority has issued the certificate')
}
