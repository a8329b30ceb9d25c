import type { Pool } from 'pg'
import type { SlotRequest, SlotsShared, SlotStore } from '../queue/slot-store.ts'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'

/** See `share_handler_slots` in storage/migrations/0001-initial/limits.ts. */
const shareStatement = `
  select handler as key, held, share, freed
  from share_handler_slots($1, $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::bigint[], $7)`

/** @param claimer has the number of this process. @throws StorageUnavailable from it while others could consider this process dead */
export function postgresSlots(pool: Pool, claimer: { readonly id: number }): SlotStore {
  return {
    async share(asked: readonly SlotRequest[], now: number) {
      const values = [
        claimer.id,
        asked.map(({ key }) => key),
        asked.map(({ limit }) => limit),
        asked.map(({ keeps }) => keeps),
        asked.map(({ wants }) => wants),
        asked.map(({ until }) => until),
        now,
      ]
      return poolRows<SlotsShared>(pool, { name: 'event_queue_slots', text: shareStatement, values })
    },
  }
}
