// What the tests share that compare walks over a list with a brute-force model.
import { after, before } from 'node:test'
import fc from 'fast-check'
import { Keyring } from '../../src/crypto/keyring.ts'
import type { MaintainedCounts } from '../../src/listing/counts/counts.ts'
import { Pages } from '../../src/listing/pages/pages.ts'
import { createListReader } from '../../src/listing/standby-reader.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { Engine, TestDatabase } from '../harness/engines.ts'

export interface ListDatabase {
  home: TestDatabase
  database: Database
}

/** A new database for the tests of one engine, which is prepared before them and dropped after them. */
export function listDatabase(
  engine: Engine,
  prepare?: (database: Database) => Promise<unknown>,
): ListDatabase {
  const opened = {} as ListDatabase
  before(async () => {
    opened.home = await engine.createMigratedDatabase()
    opened.database = await openDatabase(opened.home.url)
    await prepare?.(opened.database)
  })
  after(async () => {
    await opened.database.close()
    await opened.home.drop()
  })
  return opened
}

export function pagesOf(database: Database, counts?: ReadonlyMap<string, MaintainedCounts>): Pages {
  const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
  return new Pages(database.engine, createListReader(database), cursors, counts)
}

/** Steps of a walk after which it does not end. */
export const longestWalk = 200

/** The limits of a walk, used in turn. */
export const limits = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })

export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
