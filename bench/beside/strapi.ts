// Strapi on an SQLite file (better-sqlite3) that holds the very rows of Postern's products, as an application of one content type.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { freePort } from '../../test/harness/free-port.ts'
import { startProcess, stopProcess, untilServing } from '../harness/processes.ts'
import type { Rival } from './rival.ts'

const factory = (name: string, options = ''): string =>
  `module.exports = require('@strapi/strapi').factories.${name}('api::product.product'${options})\n`

/** The application's files. Its one call needs no credential, so that no rights are looked at. */
const files: Record<string, string> = {
  'favicon.png': '',
  'config/database.js': `module.exports = ({ env }) => ({ connection: { client: 'sqlite', connection: { filename: env('DATABASE_FILENAME') }, useNullAsDefault: true } })\n`,
  'config/server.js': `module.exports = ({ env }) => ({ host: '127.0.0.1', port: env.int('PORT'), app: { keys: ['bench-key-a', 'bench-key-b'] } })\n`,
  'config/admin.js': `module.exports = () => ({ serveAdminPanel: false, autoOpen: false, auth: { secret: 'bench-admin-secret' }, apiToken: { salt: 'bench-salt' }, transfer: { token: { salt: 'bench-salt-2' } }, secrets: { encryptionKey: 'bench-encryption-key-0123456789ab' } })\n`,
  // Those of a new application, but the one that writes a line for each call.
  'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::security', 'strapi::cors', 'strapi::poweredBy', 'strapi::query', 'strapi::body', 'strapi::session', 'strapi::favicon', 'strapi::public']\n`,
  'src/index.js': 'module.exports = { register() {}, bootstrap() {} }\n',
  'src/api/product/content-types/product/schema.json': JSON.stringify({
    kind: 'collectionType',
    collectionName: 'products',
    info: { singularName: 'product', pluralName: 'products', displayName: 'Product' },
    options: { draftAndPublish: false },
    attributes: {
      category: { type: 'string' },
      price: { type: 'float' },
      stock: { type: 'integer' },
      name: { type: 'string' },
    },
  }),
  'src/api/product/routes/product.js': factory('createCoreRouter', ', { config: { find: { auth: false } } }'),
  'src/api/product/controllers/product.js': factory('createCoreController'),
  'src/api/product/services/product.js': factory('createCoreService'),
}

/**
 * @param installed the folder in which `npm install @strapi/strapi better-sqlite3` was run.
 * @param folder for the application.
 * @param products the SQLite file of Postern's, whose products it gets.
 */
export async function startStrapi(installed: string, folder: string, products: string): Promise<Rival> {
  const { version } = JSON.parse(
    readFileSync(join(installed, 'node_modules', '@strapi', 'strapi', 'package.json'), 'utf8'),
  ) as { version: string }
  const dependencies = { '@strapi/strapi': version }
  const manifest = JSON.stringify({ name: 'bench-strapi', private: true, version: '0.0.0', dependencies })
  for (const [name, text] of Object.entries({ ...files, 'package.json': manifest })) {
    mkdirSync(join(folder, dirname(name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  for (const name of ['public/uploads', 'database/migrations'])
    mkdirSync(join(folder, name), { recursive: true })
  symlinkSync(join(installed, 'node_modules'), join(folder, 'node_modules'))
  const port = await freePort()
  const file = join(folder, 'strapi.db')
  const node = process.env['STRAPI_NODE'] ?? process.execPath
  const server = startProcess(node, [join(folder, 'node_modules', '.bin', 'strapi'), 'start'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      STRAPI_TELEMETRY_DISABLED: 'true',
      PORT: String(port),
      DATABASE_FILENAME: file,
    },
  })
  await untilServing(server, `http://127.0.0.1:${port}/_health`)
  copyProducts(products, file)
  return {
    name: `Strapi ${version} on Node.js ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`,
    port,
    path: '/api/products?filters[category][$eq]=books&filters[price][$gte]=100&filters[stock][$gt]=0&sort[0]=price:desc&sort[1]=name&sort[2]=id&pagination[pageSize]=20&pagination[withCount]=false',
    headers: {},
    settings:
      'Strapi ran in production mode with the middlewares of a new application but the log of calls, without its admin pages, without telemetry; the call needs no credential, and no total was asked for. It has no cursor.',
    [Symbol.asyncDispose]: () => stopProcess(server, 5_000),
  }
}

/** With an index for the query. Rows that are equal in the order come in Postern's. */
function copyProducts(from: string, to: string): void {
  const database = new DatabaseSync(to)
  database.exec(`pragma busy_timeout = 5000;
    attach '${from.replaceAll("'", "''")}' as postern;
    insert into products (document_id, category, price, stock, name, created_at, updated_at, published_at)
      select lower(hex(randomblob(12))), category, price, stock, name, 0, 0, 0 from postern.products order by id;
    create index products_by_category on products (category, price, name, id);
    create index products_by_price on products (price, name, id)`)
  database.close()
}
