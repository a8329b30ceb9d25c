import { parseAddress } from '../storage/postgres/servers/address.ts'
import type { PostgresDatabase } from '../storage/database.ts'
import { openDatabase, type DatabasePlace } from '../storage/open.ts'
import { readTableSizes } from '../storage/sizes.ts'
import { CommandFailure } from './command-failure.ts'

/**
 * The address for `pg_dump`. It changes settings of its session, and a pooler would give that session to the service next.
 * @throws UnsuitablePooler if the address leads to a pooler that changes sessions; CommandFailure if its only server is a standby
 * and the address does not ask for one
 */
export async function addressToDump(place: DatabasePlace): Promise<string> {
  const address = sessionAddress(place)
  await examine(place, async ({ sessions }) => {
    if (parseAddress(address).attributes !== undefined) return
    const { rows } = await sessions.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if (!rows[0]!.standby) return
    const setting = place.databaseSessionUrl === undefined ? 'DATABASE_URL' : 'DATABASE_SESSION_URL'
    throw new CommandFailure(
      `${setting} leads to a standby, which may lack what the service acknowledged last. Name the primary. ` +
        'To back up the standby all the same, append target_session_attrs=standby to the parameters of the address.',
    )
  })
  return address
}

/**
 * The address for `pg_restore`, which would name the first function that exists, and not what to do.
 * @throws UnsuitablePooler as above; CommandFailure if the database is not empty
 */
export async function addressToFill(place: DatabasePlace): Promise<string> {
  await examine(place, async (database) => {
    const [table] = await readTableSizes(database)
    if (table === undefined) return
    throw new CommandFailure(
      `The database of DATABASE_URL is not empty: it has the table ${table.name}. Nothing was restored. ` +
        'Create an empty one (`create database restored owner …`), and name it in DATABASE_URL.',
    )
  })
  return sessionAddress(place)
}

async function examine(
  place: DatabasePlace,
  work: (database: PostgresDatabase) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(place)
  try {
    if (database.engine !== 'postgres') return
    // First of all: nothing is to be set up in the sessions of a pooler.
    await database.checkPooling()
    await work(database)
  } finally {
    await database.close()
  }
}

function sessionAddress({ databaseUrl, databaseSessionUrl }: DatabasePlace): string {
  return databaseSessionUrl ?? databaseUrl
}
