import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../errors.ts'
import { BodySearches, type BodySearch } from './body-search.ts'

const search: BodySearch = { query: { text: 'a' }, filter: {}, before: undefined, limit: 1 }

test('two searches run at once; another one is refused until one of them is closed', async () => {
  // No line is read, so no search reaches the database.
  const parts = { database: { engine: 'sqlite', file: '' }, log: {} } as unknown as ConstructorParameters<
    typeof BodySearches
  >[0]
  const searches = new BodySearches(parts)
  const [one, two] = [new AbortController(), new AbortController()]
  searches.start(search, one.signal)
  searches.start(search, two.signal)
  const refused = (error: unknown) => error instanceof Problem && error.code === 'overloaded'
  assert.throws(() => searches.start(search, new AbortController().signal), refused)
  one.abort()
  searches.start(search, new AbortController().signal)
  assert.throws(() => searches.start(search, new AbortController().signal), refused)
  await searches.close()
})
