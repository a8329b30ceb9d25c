import { type Cursors, idScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import type { Client } from './client.ts'
import { type Clients, storedClient, type StoredClient } from './clients.ts'
import { contains, type Finder } from '../../http/finder.ts'

const scope = idScope('clients', {})

/** Declared and stored clients, by id, the highest first: new clients come before older ones. */
export class ClientList {
  readonly #database: Database
  readonly #cursors: Cursors
  readonly #declared: readonly Client[]

  constructor(database: Database, cursors: Cursors, declared: readonly Client[]) {
    this.#database = database
    this.#cursors = cursors
    this.#declared = declared
  }

  page(request: PageRequest): Promise<PageOfRows<Client | StoredClient>> {
    return this.#cursors.readById(scope, request, async (last, count) => {
      const stored = await storedClients(this.#database, count, last)
      const others = this.#declared.filter(({ id }) => last === undefined || compareIds(id, last) < 0)
      return [...others, ...stored].toSorted((a, b) => compareIds(b.id, a.id)).slice(0, count)
    })
  }
}

/** The clients of the database, newest first. @param below only ids below this one */
export async function storedClients(
  database: Database,
  limit: number,
  below?: string,
): Promise<StoredClient[]> {
  let query = database.reader.selectFrom('clients').selectAll().orderBy('id', 'desc').limit(limit)
  if (below !== undefined) query = query.where('id', '<', below)
  return (await query.execute()).map(storedClient)
}

/** By bytes, as the databases compare ids. */
function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Stored clients that are searched, the newest. */
const mostSearched = 1_000

/** Finds apps by id or name. */
export function clientFinder(database: Database, clients: Clients): Finder {
  return {
    scope: 'clients:read',
    async find(text) {
      const byId = await clients.find(text)
      const all = byId ? [byId] : [...clients.declared(), ...(await storedClients(database, mostSearched))]
      return all
        .filter(({ id, name }) => id === text || contains(name, text))
        .map(({ id, name }) => ({
          kind: 'app',
          id,
          title: name ?? id,
          detail: name === undefined ? null : id,
        }))
    },
  }
}
