// PostgreSQL refuses U+0000 in a text: without a check, such a text would be an error 500 there, and stored on SQLite.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startedService } from '../harness/index.ts'

onEachEngine('texts that databases cannot store', (engine) => {
  const service = startedService(engine)

  test('a path that contains U+0000 names nothing, on any route', async () => {
    const routes = service.app.routeMethods
      .all()
      .map((declared) => declared.split(' ') as [method: string, url: string])
      .filter(([method, url]) => url.includes('/:') && method !== 'OPTIONS')
    assert.ok(routes.length > 60)
    for (const [method, url] of routes) {
      const path = url.replace(/:\w+/g, 'a%00b').replace('*', 'x')
      const body = method === 'POST' || method === 'PATCH' ? { json: {} } : {}
      const { status } = await service.admin(path, { method, ...body })
      assert.ok([401, 403, 404].includes(status), `${method} ${path} answered ${status}`)
    }
  })

  test('an app is not looked up by such an id', async () => {
    for (const path of ['/oauth2/authorize', '/auth/demo']) {
      const response = await service.fetch(`${path}?client_id=a%00b&code_challenge=x`)
      assert.equal(response.status, 400, `${path}: ${await response.text()}`)
    }
  })

  for (const text of ['a\0b', '\ud800', ' ']) {
    const shown = JSON.stringify(text)
    test(`a name is not ${shown}`, async () => {
      const url = 'https://hooks.example.com/x'
      const alert = await service.admin('/alerts', {
        method: 'POST',
        json: { name: 'Night shift 🌙', kind: 'slack', url },
      })
      assert.equal(alert.status, 201)
      const { id } = (await alert.json()) as { id: string }
      const calls = [
        ['POST', '/keys', { name: text, scopes: ['events:read'] }],
        ['POST', '/alerts', { name: text, kind: 'slack', url }],
        ['PATCH', `/alerts/${id}`, { name: text }],
      ] as const
      for (const [method, path, json] of calls) {
        const answer = await service.admin(path, { method, json })
        assert.equal(answer.status, 400, `${method} ${path}`)
        assert.equal(((await answer.json()) as { code: string }).code, 'invalid-body')
      }
    })
  }
})
