import { randomInt } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { causeInWords } from '../../../runtime/cause-in-words.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { withinTime } from '../../unavailable.ts'
import { describeHost, type Host, type PostgresAddress, type SessionAttributes } from './address.ts'

/** One server at one address. */
export interface Place {
  readonly host: Host
  /** An IP address, where the name leads to several. */
  readonly address?: string
}

/** The state that a server reports. */
export interface ServerState {
  /** Whether it is a standby. */
  readonly recovering: boolean
  /** Whether new transactions are read-only. */
  readonly readOnly: boolean
}

/** Connects to a place and asks for its state. Rejects within a bounded time on failure, and when the signal is aborted. */
type AskServer = (place: Place, signal: AbortSignal) => Promise<ServerState>

/** No server of an address is available in the wanted state. */
class NoServer extends Error {
  /** sqlclient_unable_to_establish_sqlconnection. Errors of this class are temporary. */
  readonly code = '08001'

  constructor(wanted: SessionAttributes, cause: Error) {
    super(`no server is available that is ${wanted}: ${cause.message}`, { cause })
    this.name = 'NoServer'
  }
}

/** Milliseconds that a server has to answer before the next one is asked as well. */
const headStart = 250

/** Finds the wanted server among those of an address, and remembers it until `forget`. */
export class Locator {
  readonly wanted: SessionAttributes
  readonly #address: PostgresAddress
  readonly #ask: AskServer
  /** Milliseconds to resolve a name. */
  readonly #lookupWithin: number
  #known: Place | undefined
  #finding: Promise<Place> | undefined

  constructor(address: PostgresAddress, wanted: SessionAttributes, ask: AskServer, lookupWithin: number) {
    this.wanted = wanted
    this.#address = address
    this.#ask = ask
    this.#lookupWithin = lookupWithin
  }

  /** Whether there is only one server and any state will do, so that nothing must be asked. */
  get trivial(): boolean {
    return this.#address.hosts.length === 1 && this.wanted === 'any'
  }

  /** @throws NoServer */
  async find(): Promise<{ place: Place; remembered: boolean }> {
    if (this.trivial) return { place: placeOf(this.#address.hosts[0]!), remembered: false }
    if (this.#known) return { place: this.#known, remembered: true }
    this.#finding ??= this.#search().finally(() => (this.#finding = undefined))
    return { place: await this.#finding, remembered: false }
  }

  /** To be called when a connection to the place fails, or it is not in the wanted state. */
  forget(place: Place): void {
    if (this.#known === place) this.#known = undefined
  }

  suits(state: ServerState): boolean {
    return conditions[this.wanted](state)
  }

  async #search(): Promise<Place> {
    const { wanted } = this
    try {
      if (wanted !== 'prefer-standby') return this.#remember(await this.#first(wanted))
      try {
        return this.#remember(await this.#first('standby'))
      } catch (error) {
        if (!(error instanceof AllFailed)) throw error
        // Not remembered: the next connection searches for a standby again.
        return await this.#first('any')
      }
    } catch (error) {
      throw new NoServer(wanted, error as Error)
    }
  }

  #remember(place: Place): Place {
    if (!this.#address.shuffled) this.#known = place
    return place
  }

  #first(wanted: SessionAttributes): Promise<Place> {
    const { hosts, shuffled } = this.#address
    return staggered(shuffled ? shuffle(hosts) : hosts, headStart, async (host, hostSignal) => {
      const places = await this.#placesOf(host)
      return staggered(places, headStart, async (place, placeSignal) => {
        const state = await this.#ask(place, AbortSignal.any([hostSignal, placeSignal])).catch(
          (error: unknown) => {
            throw new Error(`${describePlace(place)}: ${causeInWords(error)}`, { cause: error })
          },
        )
        if (!conditions[wanted](state)) throw new Error(`${describePlace(place)} ${describeState(state)}`)
        return place
      })
    })
  }

  /** @throws Error that names the host */
  async #placesOf(host: Host): Promise<Place[]> {
    if (host.address !== undefined || host.name === '' || host.name.startsWith('/') || isIP(host.name) !== 0)
      return [placeOf(host)]
    const late = new Error('its name was not resolved in time')
    try {
      const asked = lookup(host.name, { all: true })
      const found = await withinTime(systemClock, this.#lookupWithin, asked, late)
      return found.map(({ address }) => ({ host, address }))
    } catch (error) {
      throw new Error(`${describeHost(host)}: ${causeInWords(error)}`, { cause: error })
    }
  }
}

function placeOf(host: Host): Place {
  return { host, ...(host.address !== undefined && { address: host.address }) }
}

/** Whether a server is in the wanted state. `prefer-standby` is a preference only. */
const conditions: Readonly<Record<SessionAttributes, (state: ServerState) => boolean>> = {
  any: () => true,
  'read-write': ({ readOnly }) => !readOnly,
  'read-only': ({ readOnly }) => readOnly,
  primary: ({ recovering }) => !recovering,
  standby: ({ recovering }) => recovering,
  'prefer-standby': () => true,
}

function describePlace({ host, address }: Place): string {
  const name = describeHost(host)
  return address === undefined || address === host.name ? name : `${name} (${address})`
}

function describeState({ recovering, readOnly }: ServerState): string {
  return recovering ? 'is a standby' : readOnly ? 'is read-only' : 'is a primary'
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  const rest = [...items]
  return items.map(() => rest.splice(randomInt(rest.length), 1)[0]!)
}

/** All attempts failed. The reasons are in the order of the candidates. */
class AllFailed extends Error {
  readonly reasons: readonly Error[]

  constructor(reasons: readonly Error[]) {
    super(reasons.map(({ message }) => message).join('; '))
    this.name = 'AllFailed'
    this.reasons = reasons
  }
}

/**
 * Tries candidates in order. The next attempt begins when one has failed, or `headStart` milliseconds after the previous one
 * began, so that a silent candidate does not delay the others (as RFC 8305, section 5, does for addresses). Resolves with the
 * first success, and aborts the other attempts.
 * @throws AllFailed
 */
function staggered<Candidate, Result>(
  candidates: readonly Candidate[],
  headStart: number,
  attempt: (candidate: Candidate, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const reasons: Error[] = []
  let [begun, failed] = [0, 0]
  let timer: NodeJS.Timeout | undefined
  return new Promise<Result>((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer)
      if (over.signal.aborted || begun === candidates.length) return
      const index = begun
      begun += 1
      attempt(candidates[index]!, over.signal).then(resolve, (reason: Error) => {
        reasons[index] = reason
        failed += 1
        if (failed === candidates.length) reject(new AllFailed(reasons))
        else begin()
      })
      timer = setTimeout(begin, headStart)
    }
    if (candidates.length === 0) reject(new AllFailed([]))
    else begin()
  }).finally(() => {
    clearTimeout(timer)
    over.abort()
  })
}
