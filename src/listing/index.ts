import type { Clock } from '../clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Room } from '../http/room.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import { Pages } from './page.ts'
import { posts } from './resources/posts.ts'
import { products } from './resources/products.ts'
import { users } from './resources/users.ts'
import { listRoute } from './routes.ts'
import { createListReader } from './store.ts'
import { writeRoutes } from './writing/routes.ts'

export interface ListingParts {
  database: Database
  keyring: Keyring
  clock: Clock
  /** The users whose role is admin by the settings, whatever their row says. */
  listedAdmins: () => Promise<ReadonlySet<string>>
}

/** The lists, and the calls that change those of them that are the service's own: products and posts. */
export function createListing(parts: ListingParts): Room {
  const { database, keyring, clock, listedAdmins } = parts
  const pages = new Pages(database.engine, createListReader(database), new Cursors(keyring))
  return {
    routes(app) {
      listRoute(app, users, pages, async () => {
        const admins = await listedAdmins()
        return (user) => (admins.has(String(user['id'])) ? { ...user, role: 'admin' } : user)
      })
      for (const list of [products, posts]) listRoute(app, list, pages)
      writeRoutes(app, { database, clock })
    },
    workers: [],
  }
}
