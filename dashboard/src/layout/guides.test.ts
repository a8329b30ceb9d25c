import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { guideOf, guides } from './guides.ts'

const docs = join(import.meta.dirname, '../../../docs')

test('each page of the guide that the dashboard links to exists', () => {
  const missing = Object.values(guides).filter((page) => !existsSync(join(docs, page.replace(/html$/, 'md'))))
  assert.deepEqual(missing, [])
})

test('a page below another one has the same guide', () => {
  assert.equal(guideOf('/'), guides['/'])
  assert.equal(guideOf('/events/$id'), guides['/events'])
  assert.equal(guideOf('/data/$'), guides['/data'])
  assert.equal(guideOf('/system/settings/'), guides['/system/settings'])
  assert.equal(guideOf('/account'), undefined)
})
