import type { Migration } from './migration.ts'
import { initial } from './0001-initial.ts'

/** All migrations, in order. A released one never changes (CONTRIBUTING.md, "Migrations"). */
export const migrations: readonly Migration[] = [initial]
