import type { Clock } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
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
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
}

/** The lists, and the calls that change those of them that are the service's own: products and posts. */
export function createListing({ configuration, database, keyring, clock }: ListingParts): Room {
  const pages = new Pages(database.engine, createListReader(database), new Cursors(keyring))
  return {
    routes(app) {
      for (const list of [users, products, posts]) {
        listRoute(app, list, pages, configuration.production ? list.access : 'public')
      }
      writeRoutes(app, { database, clock })
    },
    workers: [],
  }
}
