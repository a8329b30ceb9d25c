// What the handler of `contention` does, with node-postgres and a transaction for each event.
import pg from 'pg'
import { answer, parametersOf, ready } from '../harness/child-process.ts'

const { url, connections, numbers, rows } = parametersOf<{
  url: string
  connections: number
  numbers: number[]
  rows: number
}>()
const pool = new pg.Pool({ connectionString: url, max: connections })

answer(async () => {
  const left = numbers.values()
  const loop = async (): Promise<void> => {
    const client = await pool.connect()
    for (const number of left) {
      const row = rows === 0 ? number : number % rows
      await client.query('begin')
      await client.query('select 1 as one')
      await client.query('update counters set n = n + 1, event = $2 where id = $1', [row, String(number)])
      await client.query('commit')
    }
    client.release()
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return {}
})
ready()
