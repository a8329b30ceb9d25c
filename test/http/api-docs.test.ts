// API_DOCS=private: the API reference is for those who operate the service.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Scope } from '../../src/http/access/principal.ts'
import { engines, startedService } from '../harness/index.ts'

describe('the API reference', () => {
  const service = startedService(engines[0]!, () => ({ env: { API_DOCS: 'private' } }))

  async function statuses(scope?: Scope): Promise<number[]> {
    const headers = new Headers()
    if (scope !== undefined) {
      const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
      const { key } = await keys.create({ name: scope, scopes: [scope] }, { actor: 'cli' })
      headers.set('authorization', `Bearer ${key}`)
    }
    const answers = ['/openapi.json', '/docs'].map((path) =>
      fetch(new URL(path, service.baseUrl), { headers }),
    )
    return (await Promise.all(answers)).map(({ status }) => status)
  }

  test('where it is private, it needs the scope `operate`', async () => {
    assert.deepEqual(await statuses(), [401, 401])
    assert.deepEqual(await statuses('events:read'), [403, 403])
    assert.deepEqual(await statuses('operate'), [200, 200])
    assert.deepEqual(await statuses('admin'), [200, 200])
  })
})
