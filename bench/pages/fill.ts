import { sql } from 'kysely'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { fillDeliveries } from './fill-deliveries.ts'
import { fillEvents } from './fill-events.ts'
import { fillFailures } from './fill-failures.ts'
import { fillHistory } from './fill-history.ts'
import { fillPeople } from './fill-people.ts'
import type { Shape } from './shape.ts'

/** Makes the database of a service that has worked for a month. @param client the id of the app that people are signed in to */
export async function fillPages(url: string, shape: Shape, client: string): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    await fillEvents(database, shape)
    await fillFailures(database, shape)
    await fillDeliveries(database, shape)
    await fillPeople(database, shape, client)
    await fillHistory(database, shape)
    if (database.engine === 'sqlite') return
    for (const table of ['events', 'deliveries'])
      await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${shape.events})`.execute(
        database.reader,
      )
    await database.pool.query('vacuum analyze')
  } finally {
    await database.close()
  }
}
