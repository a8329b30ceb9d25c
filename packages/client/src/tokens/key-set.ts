import { errorOf, errorOfResponse } from '../errors.ts'
import { readObject, send, type Fetch } from '../http.ts'
import { importPublicKey, type Jwk, type PublicKey } from './public-key.ts'

export interface KeySetOptions {
  /** The address of the JWK set. */
  jwksUri: string
  fetch?: Fetch | undefined
  /** Milliseconds for an answer. */
  timeout: number
  /** Seconds that keys are used at most, whatever Cache-Control allows: how long a withdrawn key may still be accepted. */
  maxAge: number
  /** Seconds between two fetches for unknown key ids: anybody can send made-up ones. */
  cooldown: number
  /** Milliseconds since 1970. */
  now: () => number
}

/** Seconds that keys are used at least: a service that forbids caching is not asked for each token. */
const leastAge = 5
/** The part of its life after which a set is fetched again while it is still used. */
const early = 0.8
const maxKeys = 100

interface Loaded {
  keys: ReadonlyMap<string, PublicKey>
  /** Grows with each change of the keys. */
  generation: number
  /** The set as text, to see changes. */
  text: string
  loadedAt: number
  expiresAt: number
}

/** The public keys of the service, fetched when they are needed and replaced as a whole, so that a withdrawn key is gone. */
export class KeySet {
  readonly #options: KeySetOptions
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  #attemptedAt = Number.NEGATIVE_INFINITY

  constructor(options: KeySetOptions) {
    this.#options = options
  }

  /**
   * A number that changes with the keys, while the fetched keys may be used; `undefined` when they must be fetched first. Starts
   * to fetch them shortly before.
   */
  fresh(): number | undefined {
    const loaded = this.#loaded
    const now = this.#options.now()
    if (!loaded || now >= loaded.expiresAt || now < loaded.loadedAt) return undefined
    // A failure here is that of the next call, when the set has expired.
    if (now >= loaded.loadedAt + (loaded.expiresAt - loaded.loadedAt) * early && this.#mayFetch(now))
      this.#load().catch(() => undefined)
    return loaded.generation
  }

  /**
   * The key of an id, if the service publishes it, and the number of the keys that it was found in.
   * @throws UnavailableError `keys-unavailable`
   */
  async find(kid: string): Promise<{ key: PublicKey | undefined; generation: number }> {
    let loaded = await this.#current()
    if (!loaded.keys.has(kid) && this.#mayFetch(this.#options.now())) loaded = await this.#load()
    return { key: loaded.keys.get(kid), generation: loaded.generation }
  }

  async #current(): Promise<Loaded> {
    return this.fresh() === undefined ? this.#load() : this.#loaded!
  }

  #mayFetch(now: number): boolean {
    return now - this.#attemptedAt >= this.#options.cooldown * 1000
  }

  /** Concurrent calls share one fetch. */
  #load(): Promise<Loaded> {
    this.#loading ??= this.#fetch().finally(() => (this.#loading = undefined))
    return this.#loading
  }

  async #fetch(): Promise<Loaded> {
    const { jwksUri, fetch, timeout, maxAge, now } = this.#options
    const loadedAt = now()
    this.#attemptedAt = loadedAt
    const init = { headers: { accept: 'application/json' } }
    try {
      const { keys, lifetime } = await send(jwksUri, init, { fetch, timeout }, readKeys)
      const text = JSON.stringify(keys)
      const expiresAt = loadedAt + Math.min(Math.max(lifetime, leastAge), maxAge) * 1000
      if (this.#loaded?.text === text) return (this.#loaded = { ...this.#loaded, loadedAt, expiresAt })
      const generation = (this.#loaded?.generation ?? 0) + 1
      return (this.#loaded = { keys: await importAll(keys), generation, text, loadedAt, expiresAt })
    } catch (cause) {
      throw errorOf('keys-unavailable', 503, { detail: `The keys at ${jwksUri} cannot be read.`, cause })
    }
  }
}

async function readKeys(response: Response): Promise<{ keys: Jwk[]; lifetime: number }> {
  if (response.status !== 200) throw await errorOfResponse(response)
  const { keys } = await readObject<{ keys?: unknown }>(response)
  if (!Array.isArray(keys) || keys.length > maxKeys) throw errorOf('unexpected-answer', 502)
  const control = response.headers.get('cache-control') ?? ''
  const maxAge = Number(/(?:^|[\s,])max-age=(\d+)/i.exec(control)?.[1] ?? Number.POSITIVE_INFINITY)
  // What was in a shared cache before has lived there already.
  const age = Number(response.headers.get('age') ?? 0) || 0
  return { keys: keys as Jwk[], lifetime: /no-(?:store|cache)/i.test(control) ? 0 : maxAge - age }
}

async function importAll(keys: readonly Jwk[]): Promise<Map<string, PublicKey>> {
  const imported = new Map<string, PublicKey>()
  for (const jwk of keys) {
    // A key of a kind that this runtime does not know takes none of the others away.
    const key = typeof jwk?.kid === 'string' ? await importPublicKey(jwk).catch(() => undefined) : undefined
    if (key) imported.set(jwk.kid!, key)
  }
  return imported
}
