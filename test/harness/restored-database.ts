// Takes a database back to an earlier moment under the processes that use it, as a restored backup does.
import pg from 'pg'

export interface EarlierState {
  /** Of the copy, until it is restored. */
  readonly url: string
  /** Puts the copy in the place of the database. All sessions end; what was committed since the copy is gone. */
  restore(): Promise<void>
  /** Drops what is left beside the database. */
  drop(): Promise<void>
}

/** Copies a database. Its sessions end, and may be made again at once. */
export async function copyDatabase(url: string): Promise<EarlierState> {
  const server = new URL(url)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  const copy = `${name}_copy`
  const lost = `${name}_lost`
  await alone(server.href, name, (query) =>
    query(`create database ${copy} template ${name} strategy file_copy`),
  )
  const urlOfCopy = new URL(url)
  urlOfCopy.pathname = `/${copy}`
  return {
    url: urlOfCopy.href,
    async restore() {
      await alone(server.href, name, async (query) => {
        await query(`alter database ${name} rename to ${lost}`)
        await query(`alter database ${copy} rename to ${name}`)
      })
    },
    drop: () =>
      withAdmin(server.href, async (query) => {
        for (const left of [copy, lost]) await query(`drop database if exists ${left} with (force)`)
      }),
  }
}

type RunStatement = (text: string) => Promise<unknown>

/** Runs `work` while nobody has a session in the database. */
async function alone(server: string, name: string, work: (query: RunStatement) => Promise<unknown>) {
  await withAdmin(server, async (query) => {
    await query(`alter database ${name} allow_connections false`)
    await query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`)
    await work(query)
    await query(`alter database ${name} allow_connections true`)
  })
}

async function withAdmin(server: string, work: (query: RunStatement) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  try {
    await client.connect()
    await work((text) => client.query(text))
  } finally {
    await client.end()
  }
}
