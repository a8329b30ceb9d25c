import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAgain, type Rows } from './use-pages.ts'

interface Row {
  id: number
  version?: number
}

/** A list of rows in descending order, in pages of three, that counts how often it is read. */
class List {
  rows: Row[] = []
  reads = 0

  constructor(...ids: number[]) {
    this.rows = ids.map((id) => ({ id }))
  }

  readonly read = async (cursor?: string) => {
    this.reads += 1
    const rest = cursor === undefined ? this.rows : this.rows.filter(({ id }) => id < Number(cursor))
    const data = rest.slice(0, 3)
    return { data, pageInfo: { nextCursor: rest.length > 3 ? String(data.at(-1)!.id) : null } }
  }
}

const idOf = ({ id }: Row): number => id
const shown = (pages: number, ...ids: number[]): Rows<Row> => ({
  rows: ids.map((id) => ({ id })),
  next: String(ids.at(-1)),
  pages,
})
const again = async (list: List, before: Rows<Row> | undefined, whole = false) => {
  const { rows, next, pages } = await readAgain(list.read, idOf, () => before, whole)
  return { ids: rows.map(idOf), next, pages, reads: list.reads }
}

describe('a list that is read again', () => {
  test('is read for the first time by one page', async () => {
    assert.deepEqual(await again(new List(5, 4, 3, 2, 1), undefined), {
      ids: [5, 4, 3],
      next: '3',
      pages: 1,
      reads: 1,
    })
  })

  test('reads the first page only, and keeps the rows below it', async () => {
    const list = new List(9, 8, 7, 6, 5, 4, 3, 2, 1)
    assert.deepEqual(await again(list, shown(2, 8, 7, 6, 5, 4, 3)), {
      ids: [9, 8, 7, 6, 5, 4, 3],
      next: '3',
      pages: 2,
      reads: 1,
    })
  })

  test('shows what changed in the first page, without rows that left it', async () => {
    const list = new List(9, 7, 6, 5, 4, 3)
    list.rows[1]!.version = 2
    const before = shown(2, 9, 8, 7, 6, 5, 4)
    const { rows } = await readAgain(list.read, idOf, () => before, false)
    assert.deepEqual(rows, [{ id: 9 }, { id: 7, version: 2 }, { id: 6 }, { id: 5 }, { id: 4 }])
  })

  test('reads on until it meets the rows of before, so that none is left out', async () => {
    const list = new List(14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3)
    assert.deepEqual(await again(list, shown(3, 10, 9, 8, 7, 6, 5, 4, 3)), {
      ids: [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
      next: '3',
      pages: 3,
      reads: 2,
    })
  })

  test('is cut to its pages when nothing is left of before, and when it has become twice as long', async () => {
    const list = new List(...Array.from({ length: 30 }, (_, at) => 30 - at))
    const cut = { ids: [30, 29, 28, 27, 26, 25], next: '25', pages: 2, reads: 2 }
    assert.deepEqual(await again(list, shown(2, 9, 8, 7, 6, 5, 4)), cut)
    list.reads = 0
    const long = Array.from({ length: 12 }, (_, at) => 29 - at)
    assert.deepEqual(await again(list, shown(2, ...long)), cut)
  })

  test('reads all pages that are shown when a row below the first may have changed', async () => {
    const list = new List(9, 8, 7, 6, 4, 3, 2, 1)
    assert.deepEqual(await again(list, shown(2, 9, 8, 7, 6, 5, 4), true), {
      ids: [9, 8, 7, 6, 4, 3],
      next: '3',
      pages: 2,
      reads: 2,
    })
  })

  test('keeps a page that was added during the read', async () => {
    const list = new List(9, 8, 7, 6, 5, 4, 3, 2, 1)
    let before = shown(1, 9, 8, 7)
    const read = async (cursor?: string) => {
      const page = await list.read(cursor)
      before = shown(2, 9, 8, 7, 6, 5, 4)
      return page
    }
    const { rows, pages } = await readAgain(read, idOf, () => before, false)
    assert.deepEqual([rows.map(idOf), pages], [[9, 8, 7, 6, 5, 4], 2])
  })
})
