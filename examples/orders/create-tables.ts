// Creates the example's table in demo mode's database. On PostgreSQL: psql "$DATABASE_URL" -f examples/orders/schema.sql
import { mkdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

mkdirSync('data', { recursive: true, mode: 0o700 })
const database = new DatabaseSync('data/postern.db')
database.exec(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'))
database.close()
