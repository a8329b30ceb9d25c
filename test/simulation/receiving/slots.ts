import type { SlotRequest, SlotsShared } from '../../../src/receiving/queue/store.ts'
import type { Claimers } from './claimers.ts'

interface Row {
  held: number
  wanted: number
  until: number
}

/** The rows of `handler_slots`, by handler and claimer, and what `share_handler_slots` does with them. */
export class SlotTable {
  readonly #handlers = new Map<string, Map<number, Row>>()
  readonly #claimers: Claimers

  constructor(claimers: Claimers) {
    this.#claimers = claimers
  }

  share(me: number, asked: readonly SlotRequest[], now: number): SlotsShared[] {
    for (const rows of this.#handlers.values())
      for (const [claimer, { until }] of rows)
        if (until <= now || !this.#claimers.rows.has(claimer)) rows.delete(claimer)
    if (!this.#claimers.rows.has(me)) return []
    return asked.map((one) => this.#shareOne(me, one))
  }

  #shareOne(me: number, { key, limit, keeps, wants, until }: SlotRequest): SlotsShared {
    const rows = this.#handlers.get(key) ?? new Map<number, Row>()
    this.#handlers.set(key, rows)
    const rivals = [...rows].filter(([claimer]) => claimer !== me).map(([, row]) => row)
    const others = rivals.reduce((sum, { held }) => sum + held, 0)
    const starving = rivals.some(({ held, wanted }) => wanted > held)
    const share = starving ? Math.ceil(limit / (rivals.length + 1)) : limit
    const mine = rows.get(me)?.held ?? 0
    const held = Math.max(Math.min(keeps, mine), Math.min(wants, share, limit - others))
    const freed = starving && held < mine
    if (held === 0 && wants === 0) rows.delete(me)
    else rows.set(me, { held, wanted: wants, until })
    return { key, held, share, freed }
  }
}
