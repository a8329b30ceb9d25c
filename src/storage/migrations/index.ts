import { initial } from './0001-initial.ts'

/** All migrations, in order. A released one never changes (CONTRIBUTING.md, "Migrations"). */
export const migrations: readonly Migration[] = [initial]

export interface Migration {
  number: number
  name: string
  /** Whether a program that does not know this migration must not run on a database that has it. */
  breaking: boolean
  sqlite: string
  postgres: string
}
