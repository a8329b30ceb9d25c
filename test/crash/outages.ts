import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { engines, scoped, startTestService } from '../harness/index.ts'
import { startOwnPostgres } from '../harness/postgres.ts'
import { Chance } from '../harness/chance.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { environment, receiving } from './handlers.ts'
import { checkOutcome, createEffects, settled, type Outcome } from './outcome.ts'
import { Senders } from './senders.ts'

export interface Outages extends Outcome {
  outages: number
  acknowledged: number
  /** Requests that were answered with 503. */
  unavailable: number
}

/**
 * Stops PostgreSQL with `-m immediate` and starts it again, so many times, under load: 503 with Retry-After meanwhile, then all
 * goes on in the same process, with nothing lost and nothing twice.
 * @throws AssertionError
 */
export async function sufferOutages(
  outages: number,
  seed: number,
  onOutage: (outages: number) => void = () => undefined,
): Promise<Outages> {
  const postgres = engines.find(({ name }) => name === 'postgres')
  assert.ok(postgres)
  const chance = new Chance(seed)
  // What is answered must be on the disk.
  await using server = scoped(await startOwnPostgres({ durable: true }))
  await using service = await startTestService(postgres, {
    databaseUrl: server.url,
    env: environment,
    config: { receiving },
  })
  await createEffects(service.database)
  const senders = new Senders(8, chance, () => [service.baseUrl])
  try {
    for (let outage = 1; outage <= outages; outage += 1) {
      const before = senders.acknowledged.size
      await eventually(() => senders.acknowledged.size > before + 50, 'events are acknowledged')
      await wait(500 * chance.next())
      await server.crash()
      const refused = await postWebhook(service, { id: `refused-${outage}`, type: 'quick' })
      assert.equal(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal(((await refused.json()) as { code: string }).code, 'storage-unavailable')
      assert.equal((await service.fetch('/readyz')).status, 503)
      await wait(chance.is(0.3) ? 4_000 * chance.next() : 300 * chance.next())
      await server.restart()
      onOutage(outage)
    }
    await eventually(async () => (await service.fetch('/readyz')).status === 200, 'it is ready')
  } finally {
    await senders.end()
  }
  await settled(service.database)
  assert.equal(senders.unanswered, 0, 'every request is answered')
  const { acknowledged, unavailable } = senders
  const outcome = await checkOutcome(service.database, acknowledged)
  return { outages, acknowledged: acknowledged.size, unavailable, ...outcome }
}
