// Directus on an SQLite file that holds the very rows of Postern's products.
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../test/harness/free-port.ts'
import { startProcess, stopProcess } from '../harness/processes.ts'

export const directusToken = 'bench-static-token-0123456789'

export interface Directus extends AsyncDisposable {
  readonly port: number
}

/**
 * @param installed the folder in which `npm install directus` was run.
 * @param folder for its files.
 * @param products the SQLite file of Postern's, whose products it gets.
 */
export async function startDirectus(installed: string, folder: string, products: string): Promise<Directus> {
  const port = await freePort()
  const file = join(folder, 'directus.db')
  mkdirSync(join(folder, 'extensions'))
  const env = {
    PATH: process.env['PATH'],
    KEY: 'bench-key-of-32-bytes-0123456789',
    SECRET: 'bench-secret-of-32-bytes-0123456',
    DB_CLIENT: 'sqlite3',
    DB_FILENAME: file,
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'bench-password',
    ADMIN_TOKEN: directusToken,
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'error',
    TELEMETRY: 'false',
    EXTENSIONS_PATH: join(folder, 'extensions'),
  }
  const node = process.env['DIRECTUS_NODE'] ?? process.execPath
  const run = (command: string) =>
    startProcess(node, [join(installed, 'node_modules', '.bin', 'directus'), command], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
    })
  const bootstrap = run('bootstrap')
  const [code] = (await once(bootstrap, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`directus bootstrap ended with ${String(code)}`)
  copyProducts(products, file)
  const server = run('start')
  for (;;) {
    if (server.exitCode !== null) throw new Error(`directus ended with ${server.exitCode}`)
    const pong = await fetch(`${env.PUBLIC_URL}/server/ping`).catch(() => undefined)
    if (pong?.ok) break
    await wait(100)
  }
  return { port, [Symbol.asyncDispose]: () => stopProcess(server, 5_000) }
}

/** With Postern's columns, and with its index for the query. */
function copyProducts(from: string, to: string): void {
  const database = new DatabaseSync(to)
  database.exec(`attach '${from.replaceAll("'", "''")}' as postern`)
  database.exec(`create table products (id varchar(64) primary key, category varchar(64) not null, price real not null,
    stock integer not null, name varchar(255) not null, created_at varchar(40) not null);
    insert into products select id, category, price, stock, name, created_at from postern.products;
    create index products_by_category on products (category, price, name, id);
    create index products_by_price on products (price, name, id)`)
  database.close()
}
