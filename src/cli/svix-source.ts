import type { EventTypeBody } from '../emitting/svix/event-types.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandFailure } from './command-failure.ts'
import { serviceClient, Unavailable, type ServiceClient } from './service-client.ts'

/** Common fields of applications and endpoints. Older servers return only `rateLimit` and `filterTypes`. */
interface Entity {
  id: string
  uid?: string | null
  throttleRate?: number | null
  rateLimit?: number | null
  metadata?: Record<string, string>
  updatedAt: string
}

export interface SvixApplication extends Entity {
  name: string
}

export interface SvixEndpoint extends Entity {
  url: string
  description?: string
  disabled?: boolean
  eventTypes?: string[] | null
  filterTypes?: string[] | null
  channels?: string[] | null
}

export interface SvixEventType extends EventTypeBody {
  description: string
  updatedAt: string
}

export interface SvixSecrets {
  /** `whsec_…`, or a key pair's public key, `whpk_…`. */
  key: string
  headers: Record<string, string>
  /** Names of headers whose values Svix does not return. */
  sensitive: string[]
}

export interface SvixMessage {
  id: string
  eventId?: string | null
  eventType: string
  payload: object
  channels?: string[] | null
  tags?: string[] | null
  timestamp: string
  /** Set for a message that Svix sends later. */
  deliverAt?: string | null
}

interface Page<Item> {
  data: Item[]
  iterator: string | null
  done: boolean
}

/** Seconds before each retry, while the server is unavailable or limits the rate. */
const pauses = [1, 2, 5, 10, 30]

/** Milliseconds after a time within which Svix's server searches for the first message. */
const longestQuery = 90 * 86_400_000

/** Reads a running Svix server. */
export class SvixSource {
  readonly #client: ServiceClient
  readonly #signal: AbortSignal

  /** @param signal ends the pauses between retries */
  constructor(url: string, token: string, signal: AbortSignal) {
    const keyAdvice = 'set SVIX_AUTH_TOKEN to an API token of this environment'
    this.#client = serviceClient({ url, key: token, keyAdvice })
    this.#signal = signal
  }

  /** The pages of a list, each with its iterator. @throws CommandFailure */
  async *pages<Item>(
    path: string,
    query: Record<string, string>,
    iterator?: string,
  ): AsyncGenerator<{ items: Item[]; at: string | undefined }> {
    for (let at = iterator; ;) {
      const page = await this.#page<Item>(path, { ...query, iterator: at })
      yield { items: page.data, at }
      if (page.done || page.iterator === null || page.iterator === at) return
      at = page.iterator
    }
  }

  /** An application's messages since a time, in pages, oldest first. */
  async *messages(application: string, since: number): AsyncGenerator<SvixMessage[]> {
    const path = `/api/v1/app/${application}/msg`
    const query = { limit: '250', with_content: 'true' }
    for (let from: Record<string, string> = { after: isoTime(since) }; ;) {
      const page = await this.#page<SvixMessage>(path, { ...query, ...from })
      if (page.data.length === 0) {
        since += longestQuery
        if (!from['after'] || since > Date.now()) return
        from = { after: isoTime(since) }
        continue
      }
      yield page.data.toReversed()
      // An iterator with a hyphen goes back in Svix's list, which is newest first.
      from = { iterator: `-${page.data[0]!.id}` }
    }
  }

  async #page<Item>(path: string, query: Record<string, string | undefined>): Promise<Page<Item>> {
    const page = await this.#get<Page<Item>>(path, query)
    if (!Array.isArray(page.data)) throw this.#isNoSvix(path)
    return page
  }

  async secretsOf(application: string, endpoint: string): Promise<SvixSecrets> {
    const path = `/api/v1/app/${application}/endpoint/${endpoint}`
    const [{ key }, { headers, sensitive }] = await Promise.all([
      this.#get<SvixSecrets>(`${path}/secret`),
      this.#get<SvixSecrets>(`${path}/headers`),
    ])
    return { key, headers, sensitive }
  }

  async #get<Answer>(path: string, query?: Record<string, string | undefined>): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#client.read<Answer>(path, query)
      } catch (error) {
        if (error instanceof SyntaxError) throw this.#isNoSvix(path)
        const seconds = pauses[attempt]
        if (!(error instanceof Unavailable) || seconds === undefined || this.#signal.aborted) throw error
        await pause(seconds * 1000, undefined, { signal: this.#signal }).catch(() => undefined)
      }
    }
  }

  #isNoSvix(path: string): CommandFailure {
    const url = `${this.#client.service}${path}`
    return new CommandFailure(`${url} did not return a response of a Svix server: check --from`)
  }
}
