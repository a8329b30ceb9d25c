export interface Migration {
  number: number
  name: string
  /** Whether a program that does not know this migration must not run on a database that has it. */
  breaking: boolean
  sqlite: string
  postgres: string
}
