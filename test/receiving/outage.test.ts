// The connections to the database break (its crash is in test/crash). It goes away and comes back: 503 with Retry-After meanwhile, nothing acknowledged is lost, no restart.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onPostgres, openLink, postgres, startTestService } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'

test(
  'the database disappears: 503, then recovery without a restart, and no event lost or duplicated',
  onPostgres,
  async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    await using service = await startTestService(postgres!, {
      databaseUrl: link.url,
      env: { HANDLER_TIMEOUT: '600', HANDLER_RETRY_SCHEDULE: '0,0,0,0,0' },
      handlers: { work: (event, { tx }) => writeEffect(tx, event.id) },
    })
    await createEffects(service.database)
    const acknowledged: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const sending = Array.from({ length: 30 }, async (_, index) => {
        const id = `${round}-${index}`
        const { status } = await postWebhook(service, { id, type: 'work' })
        if (status === 200) acknowledged.push(id)
        else assert.equal(status, 503)
      })
      if (round > 0) link.cut()
      await Promise.all(sending)
      if (round > 0) {
        const refused = await postWebhook(service, { id: 'refused', type: 'work' })
        assert.equal(refused.status, 503)
        assert.ok(Number(refused.headers.get('retry-after')) > 0)
        assert.equal(((await refused.json()) as { code: string }).code, 'storage-unavailable')
        assert.equal((await service.fetch('/readyz')).status, 503)
      }
      link.mend()
      await eventually(
        async () => (await postWebhook(service, { id: `after-${round}`, type: 'work' })).status === 200,
      )
      acknowledged.push(`after-${round}`)
    }
    // Whatever is in the event queue was either acknowledged, or its acknowledgement was lost on the way: all of it is done.
    const effects = await eventually(async () => {
      const found = await readEffects(service.database)
      return acknowledged.every((id) => found.includes(id)) ? found : undefined
    }, 'every acknowledged event has its effect')
    assert.deepEqual(effects, [...new Set(effects)])
  },
)
