import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../harness/engines.ts'
import { started } from '../../harness/started.ts'
import { startEmitting } from '../harness.ts'

onEachEngine("Svix's API", (engine) => {
  const service = started(() => startEmitting(engine))

  async function call(method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
    const response = await service.admin(`/api/v1${path}`, { method, json, headers })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
  }

  test('answers errors in the form that the libraries read', async () => {
    const unknown = { code: 'not_found', detail: 'Entity not found' }
    assert.deepEqual(await call('GET', '/app/nobody/endpoint'), { status: 404, body: unknown })
    assert.deepEqual(await call('GET', '/nothing/here'), { status: 404, body: unknown })
    const { status, body } = await call('GET', '/stream')
    assert.equal(status, 404)
    assert.equal((body as { code: string }).code, 'not_implemented')
    const limit = await call('GET', '/app?limit=251')
    assert.equal(limit.status, 422)
    assert.deepEqual((limit.body as { detail: { loc: string[] }[] }).detail[0]!.loc, [
      'query',
      'limit',
      'limit',
    ])
    const anonymous = await service.fetch('/api/v1/app')
    assert.equal(anonymous.status, 401)
    assert.equal(((await anonymous.json()) as { code: string }).code, 'authentication_failed')
    assert.equal((await call('GET', '/app?order=sideways')).status, 400)
    const name = await call('POST', '/app', { name: '', uid: 'a b' })
    assert.deepEqual(
      (name.body as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc),
      [
        ['body', 'name'],
        ['body', 'uid', '__all__'],
      ],
    )
    assert.equal((await service.fetch('/api/v1/health/ping')).status, 204)
    assert.equal((await service.fetch('/api/v1/health/')).status, 200)
  })
})
