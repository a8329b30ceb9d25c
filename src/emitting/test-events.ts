import { Problem } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Reach } from './audience.ts'
import type { Announce, Emitted, Emitter } from './emitter.ts'
import type { Subscribers } from './subscribers.ts'

export const testEventType = 'postern.test'

/** Signed events that show a subscriber that it is reached, through the same queue as all others. */
export class TestEvents {
  readonly #database: Database
  readonly #emitter: Emitter
  readonly #subscribers: Subscribers
  readonly #announce: Announce

  constructor(database: Database, emitter: Emitter, subscribers: Subscribers, announce: Announce) {
    this.#database = database
    this.#emitter = emitter
    this.#subscribers = subscribers
    this.#announce = announce
  }

  /** @throws Problem `not-found`; `conflict` when the subscriber is disabled */
  async send(
    subscriberId: string,
    reach: Reach,
  ): Promise<Pick<Emitted, 'id' | 'eventId'> & { deliveryId: number }> {
    const sent = await this.#database.transaction(async (tx) => {
      const { status } = await this.#subscribers.get(subscriberId, reach, tx)
      if (status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      const data = { message: 'A test event: if its signature verifies, everything is set up.', subscriberId }
      const { deliveryIds, ...emitted } = await this.#emitter.toThese(tx, { type: testEventType, data }, [
        subscriberId,
      ])
      return { ...emitted, deliveryId: deliveryIds[0]! }
    })
    this.#announce([sent])
    const { id, eventId, deliveryId } = sent
    return { id, eventId, deliveryId }
  }
}
