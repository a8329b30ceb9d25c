import type { Migration } from '../migrate.ts'
import { initial } from './0001-initial.ts'

/** All migrations, in the order in which they are applied. A released one is never changed (CONTRIBUTING.md, "Migrations"). */
export const migrations: readonly Migration[] = [initial]
