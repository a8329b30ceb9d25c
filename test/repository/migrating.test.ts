// The statements of docs/migrating/ export what the import needs, and join the new ids to the old users.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { userTarget } from '../../src/listing/importing/users.ts'
import { fields, onPostgres, postgres, type TestDatabase } from '../harness/index.ts'

/** The SQL blocks of a page, without the commands of psql. */
function statementsOf(page: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/migrating', page), 'utf8')
  return [...text.matchAll(/^```sql\n([^]*?)^```$/gm)].map((match) => match[1]!.replaceAll(/^\\.*$/gm, ''))
}

const users = `create table users (id serial primary key, name varchar(255), email varchar(255));
  insert into users (name, email) select 'U' || n, 'u' || n || '@example.com' from generate_series(1, 7) n;`

/** https://authjs.dev/getting-started/adapters/pg, the columns that the page reads. */
const accounts = `create table accounts (id serial primary key, "userId" integer not null, type varchar(255) not null,
  provider varchar(255) not null, "providerAccountId" varchar(255) not null, id_token text);`

const token = (claims: object): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`

const stored = [
  [1, 'oauth', 'github', '583231', null],
  [1, 'oidc', 'google', '1101', token({ sub: '1101' })],
  [2, 'oidc', 'microsoft-entra-id', 'pairwise', token({ tid: 'aaaa', oid: 'bbbb', name: 'Zoë ÿ?>' })],
  [3, 'oidc', 'slack', 'U1', token({ 'https://slack.com/team_id': 'T1' })],
  [4, 'oauth', 'twitter', '77', null],
  [5, 'oauth', 'bitbucket', 'account', null],
  [6, 'oidc', 'azure-ad', 'without a token', null],
  [7, 'email', 'nodemailer', 'u7@example.com', null],
] as const

describe('moving accounts from other systems', onPostgres, () => {
  let database: TestDatabase
  let client: pg.Client

  before(async () => {
    database = await postgres!.createDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
  })

  after(async () => {
    await client.end()
    await database.drop()
  })

  /** Runs the second block with `exported` and `ids` filled as \copy fills them, and returns the ids of the users. */
  async function joined(block: string, exported: string): Promise<unknown[]> {
    const update = block.indexOf('update users')
    await client.query(block.slice(0, update))
    await client.query(`insert into exported ${exported}`)
    await client.query(`insert into ids (id, provider, "providerId")
      select 'new ' || "providerId", provider, "providerId" from exported`)
    await client.query(block.slice(update))
    const { rows } = await client.query<{ postern_id: unknown }>('select postern_id from users order by id')
    return rows.map((row) => row.postern_id)
  }

  test('Auth.js: one account of each user, with the ids that Postern uses', async () => {
    const [view = '', joining = ''] = statementsOf('auth-js.md')
    await client.query('create schema auth; set search_path = auth')
    await client.query(users + accounts)
    for (const row of stored)
      await client.query(
        'insert into accounts ("userId", type, provider, "providerAccountId", id_token) values ($1, $2, $3, $4, $5)',
        [...row],
      )
    await client.query(view)
    const { rows } = await client.query<Record<string, unknown>>(
      'select provider, "providerId", email, name, nth::int from postern_accounts order by "userId", nth',
    )
    assert.deepEqual(fields(rows, 'provider', 'providerId', 'nth'), [
      ['github', '583231', 1],
      ['google', '1101', 2],
      ['microsoft', 'aaaa:bbbb', 1],
      ['slack', 'T1:U1', 1],
      ['x', '77', 1],
    ])
    // The import accepts each line.
    for (const { provider, providerId, email, name } of rows)
      userTarget.read({ provider, providerId, email, name }, 0)
    const first = `select provider, "providerId", email, name, "userId" from postern_accounts where nth = 1`
    const expected = ['new 583231', 'new aaaa:bbbb', 'new T1:U1', 'new 77', null, null, null]
    assert.deepEqual(await joined(joining, first), expected)
    await client.query('drop table ids; drop table exported')
  })

  test('Passport: the credentials of the tutorial, and columns for each provider', async () => {
    const [views = '', columns = ''] = statementsOf('passport.md')
    // The page links to this step for Auth.js.
    const [, joining = ''] = statementsOf('auth-js.md')
    await client.query('create schema passport; set search_path = passport')
    await client.query(`${users} alter table users add google_id text, add github_id text;
      update users set google_id = 'g' || id where id < 3; update users set github_id = 'h' || id where id = 2`)
    await client.query(`create table federated_credentials (id serial, user_id integer, provider text, subject text);
      insert into federated_credentials (user_id, provider, subject) values
        (1, 'https://accounts.google.com', '1101'), (1, 'https://github.com', '1102'), (2, 'https://other.example', '5')`)
    await client.query(views)
    const { rows } = await client.query<Record<string, unknown>>('table postern_accounts')
    const ofUser = { email: 'u1@example.com', name: 'U1', userId: 1 }
    assert.deepEqual(rows, [
      { provider: 'google', providerId: '1101', ...ofUser, nth: '1' },
      { provider: 'github', providerId: '1102', ...ofUser, nth: '2' },
    ])
    const others = await client.query<Record<string, unknown>>('table postern_other_accounts')
    assert.deepEqual(others.rows, [{ provider: 'github', providerId: '1102', imported_as: 'google' }])
    const first = `select provider, "providerId", email, name, "userId" from postern_accounts where nth = 1`
    const expected = ['new 1101', null, null, null, null, null, null]
    assert.deepEqual(await joined(joining, first), expected)

    // The other form of `mapped`.
    await client.query('drop view postern_accounts cascade')
    await client.query(views.replace(/(?<=as \()[^]*?(?=\n\)\nselect)/, columns))
    const { rows: byColumn } = await client.query<Record<string, unknown>>(
      'select provider, "providerId", nth::int from postern_accounts order by 2',
    )
    assert.deepEqual(
      byColumn.map((row) => Object.values(row)),
      [
        ['google', 'g1', 1],
        ['google', 'g2', 1],
        ['github', 'h2', 2],
      ],
    )
  })
})
