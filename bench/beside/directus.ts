// Directus on an SQLite file that holds the very rows of Postern's products.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { freePort } from '../../test/harness/free-port.ts'
import { startProcess, stopProcess, untilServing } from '../harness/processes.ts'
import type { Rival } from './rival.ts'

const token = 'bench-static-token-0123456789'

/**
 * @param installed the folder in which `npm install directus` was run.
 * @param folder for its files.
 * @param products the SQLite file of Postern's, whose products it gets.
 */
export async function startDirectus(installed: string, folder: string, products: string): Promise<Rival> {
  const port = await freePort()
  const file = join(folder, 'directus.db')
  mkdirSync(join(folder, 'extensions'))
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    KEY: 'bench-key-of-32-bytes-0123456789',
    SECRET: 'bench-secret-of-32-bytes-0123456',
    DB_CLIENT: 'sqlite3',
    DB_FILENAME: file,
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'bench-password',
    ADMIN_TOKEN: token,
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
  await untilServing(server, `${env.PUBLIC_URL}/server/ping`)
  return {
    name: `Directus ${versionOf(installed)} on Node.js ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`,
    port,
    path: '/items/products?filter[category][_eq]=books&filter[price][_gte]=100&filter[stock][_gt]=0&sort=-price,name,id&limit=20',
    headers: { authorization: `Bearer ${token}` },
    settings:
      'Directus ran in production mode with its defaults: cache off, rate limiter off, log level error, telemetry off; asked by an admin with a static token, whose rights are not looked at; no total was asked for. It has no cursor.',
    [Symbol.asyncDispose]: () => stopProcess(server, 5_000),
  }
}

function versionOf(installed: string): string {
  const file = join(installed, 'node_modules', 'directus', 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
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
