// The lists of the groups A to J, with their data.
import { before } from 'node:test'
import { list } from '../../src/index.ts'
import type { Engine, TestService } from '../harness/index.ts'
import { insertMeasurements, measurements, tablesOf } from './declared.ts'
import { insertEvents, insertPosts, insertProducts, insertUsers, post, product } from './seed.ts'
import { listService, type ListService } from './service.ts'

export const rows = 61

/** The owner of the rows in `/whose`; a test changes it. */
export const seen = { owner: 'ada' }

const lists = [
  list({ ...measurements, strict: false }),
  list({ ...measurements, strict: false, path: '/numbered', order: ['id'], sort: [], pages: ['offset'] }),
  list({ ...measurements, strict: false, path: '/followed', order: ['id'], sort: [], pages: ['keyset'] }),
  list({ ...measurements, strict: false, path: '/both', pages: ['cursor', 'offset'], exports: true }),
  list({ ...measurements, strict: false, path: '/whose', where: () => ({ owner: seen.owner }) }),
  list({
    ...measurements,
    strict: false,
    path: '/filtered',
    filters: {
      small: 'in',
      fine: 'flag',
      state: 'equals',
      minSmall: { kind: 'atLeast', field: 'small' },
      belowSmall: { kind: 'below', field: 'small' },
      id: 'equals',
      text: 'prefix',
      textless: { kind: 'null', field: 'text' },
    },
  }),
]

/** Every list of the service with items of its own. */
export const everyPath = [
  '/users',
  '/events',
  '/products',
  '/api/posts',
  '/measurements',
  '/numbered',
  '/followed',
  '/both',
  '/filtered',
]

/** A service with these lists and so many rows in each. */
export function groupsService(engine: Engine, count = rows): ListService {
  const opened = listService(engine, lists, tablesOf(engine))
  before(() => seed(opened.service, count))
  return opened
}

async function seed({ database }: TestService, rows: number): Promise<void> {
  const time = (index: number): string => `2026-01-01T00:00:0${index % 7}.000${index % 3}00Z`
  const id = (index: number): string => `r${String((index * 37) % rows).padStart(3, '0')}`
  const all = Array.from({ length: rows }, (_, index) => index)
  await insertUsers(database, rows)
  await insertEvents(database, rows)
  await insertPosts(
    database,
    all.map((index) => post(id(index), time(index))),
  )
  await insertProducts(
    database,
    all.map((index) =>
      product(id(index), {
        category: ['a', 'A', 'b'][index % 3]!,
        price: (index % 11) + 0.5,
        name: `n${index % 4}`,
        created_at: time(index),
      }),
    ),
  )
  await insertMeasurements(database, rows)
}
