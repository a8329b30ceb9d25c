import type { EventQueue, Kind, PendingKind } from '../queue/store.ts'

/** The most kinds of one query. Senders choose the types, so their number is unbounded. */
export const perRound = 100
/** The most kinds whose turns are remembered. */
const mostRemembered = 1_000
const beforeAll: Kind = { source: '', type: '' }

/** Takes kinds in turns: each round begins behind the last kind of the round before. */
export class KindRotation {
  readonly #store: Pick<EventQueue, 'pendingKinds'>
  #after = beforeAll
  /** Whether there may be more kinds than the last round returned. */
  #many = false
  /** The number of the round since which a kind waits for its turn: the one after it was claimed, or the first that found it due. */
  readonly #waitsSince = new Map<string, number>()
  #round = 0

  constructor(store: Pick<EventQueue, 'pendingKinds'>) {
    this.#store = store
  }

  /** Returns at most `perRound` kinds, each once. There are usually few kinds, and one query returns all of them. */
  async next(now: number): Promise<PendingKind[]> {
    const kinds = await this.#next(now)
    this.#many = kinds.length >= perRound
    return kinds
  }

  /** Makes the next round begin behind this kind, or at the first one. */
  goOnBehind(kind: Kind | undefined): void {
    this.#after = kind ? { source: kind.source, type: kind.type } : beforeAll
  }

  /**
   * Counts a round, and returns its due kinds, those first that have waited for the most rounds: of the kinds that share slots, few may be
   * claimed in one round, and others in between.
   */
  beginRound<Due extends Kind>(due: readonly Due[]): Due[] {
    this.#round += 1
    if (this.#waitsSince.size + due.length > mostRemembered) this.#waitsSince.clear()
    const since = (kind: Kind): number => this.#waitsSince.get(nameOf(kind)) ?? this.#round
    for (const kind of due) this.#waitsSince.set(nameOf(kind), since(kind))
    return due.toSorted((one, other) => since(one) - since(other))
  }

  /** Notes that events of a kind are claimed in this round. */
  claimed(kind: Kind): void {
    this.#waitsSince.set(nameOf(kind), this.#round + 1)
  }

  async #next(now: number): Promise<PendingKind[]> {
    const after = this.#after
    if (after === beforeAll) return this.#store.pendingKinds(beforeAll, perRound, now)
    if (this.#many) {
      const behind = await this.#store.pendingKinds(after, perRound, now)
      if (behind.length >= perRound) return behind
      return joined(behind, await this.#store.pendingKinds(beforeAll, perRound, now))
    }
    const all = await this.#store.pendingKinds(beforeAll, perRound, now)
    if (all.length === 0) return all
    // The order is that of the database's collation, so only a query can find the position of a kind that is gone.
    const place = all.findIndex((kind) => nameOf(kind) === nameOf(after))
    if (all.length < perRound && place >= 0) return [...all.slice(place + 1), ...all.slice(0, place + 1)]
    return joined(await this.#store.pendingKinds(after, perRound, now), all)
  }
}

/** `behind`, then those of `all` that are not in it. */
function joined(behind: readonly PendingKind[], all: readonly PendingKind[]): PendingKind[] {
  const seen = new Set(behind.map(nameOf))
  return [...behind, ...all.filter((kind) => !seen.has(nameOf(kind)))].slice(0, perRound)
}

/** Yields all pending kinds in pages, at most `most` of them. */
export async function* pagesOfKinds(
  store: Pick<EventQueue, 'pendingKinds'>,
  now: number,
  most: number,
): AsyncGenerator<PendingKind[]> {
  let kinds: PendingKind[] = []
  for (let page = 0; page < most; page += 1) {
    kinds = await store.pendingKinds(kinds.at(-1) ?? beforeAll, perRound, now)
    yield kinds
    if (kinds.length < perRound) return
  }
}

/** Identifies a kind. */
export const nameOf = ({ source, type }: Kind): string => `${source} ${type}`
