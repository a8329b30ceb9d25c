// kill -9, and the database's own crash, while events come in and are processed. Hundreds of them: npm run crash.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines, onEachEngine } from '../harness/engines.ts'
import { campaign } from './campaign.ts'
import { deliveryCampaign } from './deliveries.ts'
import { sufferOutages } from './outages.ts'

onEachEngine('kill -9', (engine) => {
  const processes = engine.name === 'sqlite' ? 1 : 2
  test('loses no acknowledged event, runs nothing twice, and keeps the order of a key', async () => {
    const { acknowledged } = await campaign(engine, { kills: 5, processes, seed: 1 })
    assert.ok(acknowledged > 50, `only ${acknowledged} were acknowledged`)
  })

  test('delivers or dead-letters all accepted events in order, and repeats only interrupted attempts', async () => {
    const { accepted, dead } = await deliveryCampaign(engine, { kills: 5, processes, seed: 1 })
    assert.ok(accepted > 30 && dead > 0, `${accepted} were accepted, ${dead} given up`)
  })
})

test(
  'PostgreSQL stopped with -m immediate: 503 meanwhile, then recovery without a restart, nothing lost, nothing twice',
  { skip: engines.every(({ name }) => name !== 'postgres') && 'TEST_ENGINE leaves PostgreSQL out' },
  async () => {
    const { acknowledged, unavailable } = await sufferOutages(2, 1)
    assert.ok(acknowledged > 100 && unavailable > 0, `${acknowledged} acknowledged, ${unavailable} refused`)
  },
)
