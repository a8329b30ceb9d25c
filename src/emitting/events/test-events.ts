import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { holderOf, takeAllowance } from '../deliveries/allowances.ts'
import type { Reach } from './audience.ts'
import type { Announce, Emitted, Emitter } from './emitter.ts'
import { subscriberTarget } from '../subscribers/subscriber-audit.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'

export const testEventType = 'postern.test'

export interface TestEventsParts {
  database: Database
  clock: Clock
  emitter: Emitter
  subscribers: Subscribers
  announce: Announce
  record: RecordAudit
}

/** Sends signed test events in the same way as all other events. */
export class TestEvents {
  readonly #parts: TestEventsParts

  constructor(parts: TestEventsParts) {
    this.#parts = parts
  }

  /**
   * Counts a test event against the owner's allowance in the transaction that registers its subscriber.
   * @throws Problem `too-many-requests`
   */
  async reserve(tx: Tx, owner: string): Promise<void> {
    const { database, clock } = this.#parts
    const use = { kind: 'test-event', holder: holderOf({ id: '', owner }), now: clock.now() } as const
    await takeAllowance(database.engine, tx, use)
  }

  /**
   * @param reserved whether `reserve` has counted it
   * @throws Problem `not-found`; `conflict` when the subscriber is disabled; `too-many-requests`
   */
  async send(
    subscriberId: string,
    reach: Reach,
    origin: AuditOrigin,
    reserved = false,
  ): Promise<Pick<Emitted, 'id' | 'eventId'> & { deliveryId: number }> {
    const { database, clock, emitter, subscribers, announce, record } = this.#parts
    const sent = await database.transaction(async (tx) => {
      const { status, owner } = await subscribers.get(subscriberId, reach, tx)
      if (status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      if (!reserved) {
        const holder = holderOf({ id: subscriberId, owner })
        await takeAllowance(database.engine, tx, { kind: 'test-event', holder, now: clock.now() })
      }
      const data = { message: 'A test event: if its signature verifies, everything is set up.', subscriberId }
      const audience = owner ?? undefined
      const { deliveryIds, ...emitted } = await emitter.emitTo(tx, { type: testEventType, data, audience }, [
        subscriberId,
      ])
      const [deliveryId] = deliveryIds
      if (deliveryId === undefined) throw new Problem('not-found')
      await record(tx, {
        action: 'subscriber.tested',
        target: subscriberTarget(subscriberId),
        detail: { deliveryId },
        ...origin,
      })
      return { ...emitted, deliveryId }
    })
    announce([sent])
    const { id, eventId, deliveryId } = sent
    return { id, eventId, deliveryId }
  }
}
