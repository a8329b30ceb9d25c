// The JWKS has a key of each algorithm that an app asks for before one of them signs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine, started, startTestService } from '#test/harness/index.ts'
import { callback, clients } from './harness.ts'

onOneEngine('the published keys', (engine) => {
  const service = started(async () => {
    const declared = [...clients, { id: 'rsa', redirectUris: [callback], idTokenAlgorithm: 'RS256' as const }]
    return startTestService(engine, { config: { login: { clients: declared } } })
  })

  const algorithms = async (): Promise<string[]> => {
    const answer = await service.fetch('/.well-known/jwks.json')
    const { keys } = (await answer.json()) as { keys: { alg: string }[] }
    return keys.map(({ alg }) => alg).toSorted()
  }

  test('are those of the declared apps, and of apps that are created and changed', async () => {
    assert.deepEqual(await algorithms(), ['ES256', 'RS256'])
    const json = { name: 'Stored', redirectUris: [callback] }
    const created = await service.admin('/clients', { method: 'POST', json })
    const { id } = (await created.json()) as { id: string }
    assert.deepEqual(await algorithms(), ['ES256', 'RS256'])
    const change = { method: 'PATCH', json: { idTokenAlgorithm: 'EdDSA' } }
    assert.equal((await service.admin(`/clients/${id}`, change)).status, 200)
    assert.deepEqual(await algorithms(), ['ES256', 'EdDSA', 'RS256'])
    // The keys stay the same.
    assert.deepEqual(await algorithms(), ['ES256', 'EdDSA', 'RS256'])
  })
})
