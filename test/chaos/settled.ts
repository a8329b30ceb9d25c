import { setTimeout as wait } from 'node:timers/promises'
import { now } from './now.ts'
import type { World } from './world.ts'

/** Milliseconds that are waited for effects before they count as lost. */
export const settleLimit = 90_000
const fewAcknowledged = 20

/** How long a world took to recover. */
interface Settled {
  ms: number
  readyMs: number
  last: string
}

/**
 * Resolves with the milliseconds after which all that is acknowledged until now has its effect, more is acknowledged, and all
 * processes are ready.
 */
export async function settled({ ledger, senders, processes }: World): Promise<Settled> {
  const began = now()
  const waiting = new Set(ledger.outstanding.values())
  const accepted = (): number => senders?.accepted ?? 0
  const enough = accepted() + fewAcknowledged
  let last = ''
  let ms: number
  let readyMs: number | undefined
  do {
    await wait(50)
    ms = now() - began
    for (const item of waiting) {
      if (item.doneAt === undefined && !item.inLostWindow) continue
      waiting.delete(item)
      last = item.id
    }
    if (processes.every(({ ready }) => ready)) readyMs ??= ms
  } while ((waiting.size > 0 || accepted() < enough || readyMs === undefined) && ms < settleLimit)
  return { ms, readyMs: readyMs ?? ms, last }
}
