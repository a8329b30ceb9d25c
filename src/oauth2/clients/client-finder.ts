import { contains, type Finder } from '../../http/finder.ts'
import type { Database } from '../../storage/database.ts'
import { storedClients } from './client-list.ts'
import type { Clients } from './clients.ts'

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
