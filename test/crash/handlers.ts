import { setTimeout as wait } from 'node:timers/promises'
import type { HandlerContext, ReceivedEvent } from '../../src/index.ts'
import type { ReceivingConfig } from '../../src/receiving/config.ts'

/** An alias and no interface: Kysely wants tables with an index signature, which interfaces never have. */
type Effects = { effects: { event_id: string; order_key: string | null } }

interface Payload {
  key?: string
  /** Attempts that throw. */
  throws?: number
}

/** Writes its effect, and leaves a moment before its end for a crash to fall into. */
async function work(event: ReceivedEvent, { tx, emit }: HandlerContext, pause: number): Promise<void> {
  const { key = null, throws = 0 } = event.payload as Payload
  await tx
    .withTables<Effects>()
    .insertInto('effects')
    .values({ event_id: event.id, order_key: key })
    .execute()
  if (pause > 0) await wait(pause)
  if (event.attempt <= throws) throw new Error('as it has to')
  emit({ type: 'work.done', data: { of: event.id }, id: `done-${event.id}` })
}

/** What the processes of a campaign do with the events of its senders. */
export const receiving: ReceivingConfig = {
  handlers: {
    quick: (event, context) => work(event, context, 0),
    slow: (event, context) => work(event, context, 3),
    alone: (event, context) => work(event, context, 300),
    throwing: (event, context) => work(event, context, 0),
    ordered: {
      orderBy: (event) => (event.payload as Payload).key,
      handle: (event, context) => work(event, context, event.attempt % 3),
    },
    poison: async (event, context) => {
      await work(event, context, 1)
      throw new Error('as it always has to')
    },
  },
}

/** Seconds: what a crash leaves claimed is soon due again. */
export const environment = { HANDLER_TIMEOUT: '2', HANDLER_RETRY_SCHEDULE: '0,0.05,0.1,0.2,0.5' }
