import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { CommandFailure, UsageFailure } from './command-failure.ts'
import { isJson, print } from './output.ts'
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { moduleExtension, packageFile } from '../code-folder.ts'
import { version } from '../runtime/version.ts'
import { randomBytes } from 'node:crypto'

interface InitOptions {
  yes?: boolean
  name?: string
  /** Without the sample. */
  empty?: boolean
}

/**
 * Writes a new project to `folder`; the default is the working directory. Asks for the folder and the name, unless they are given or
 * `yes` is set.
 * @throws CommandFailure if the folder has files already, or for a name that npm does not take
 */
export async function init(
  given: string | undefined,
  { yes = false, name: named, empty = false }: InitOptions,
): Promise<void> {
  const folder = given ?? (await ask('Folder', '.', yes))
  const target = resolve(folder)
  const name = named ?? (await ask('Name', nameOf(target), yes))
  if (!/^[a-z\d][a-z\d._-]{0,213}$/.test(name))
    throw new UsageFailure(`${name} is not a package name: use lowercase letters, digits and dashes`)
  const others = existsSync(target) ? readdirSync(target).filter((entry) => entry !== '.git') : []
  if (others.length > 0)
    throw new CommandFailure(`${target} is not empty (${others[0]}): name a new or an empty folder`)
  const files = projectFiles({ name, version: providePackages(target), empty })
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, path)
    mkdirSync(dirname(file), { recursive: true })
    // Others on this machine must not read the secrets.
    writeFileSync(file, text, { mode: path === '.env' ? 0o600 : 0o644 })
  }
  const enter = target === process.cwd() ? '' : `  cd ${/\s/.test(folder) ? `'${folder}'` : folder}\n`
  print(
    { folder: target, files: Object.keys(files) },
    `${Object.keys(files).length} files written to ${target}\n\n${await nodeAdvice()}${enter}  npm install\n  npm run dev\n`,
  )
}

async function ask(question: string, usual: string, yes: boolean): Promise<string> {
  if (yes || !process.stdin.isTTY || isJson()) return usual
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await lines.question(`${question} (${usual}): `)).trim() || usual
  } finally {
    lines.close()
  }
}

function nameOf(folder: string): string {
  return (
    basename(folder)
      .toLowerCase()
      .replaceAll(/[^a-z\d._-]+/g, '-')
      .replace(/^[^a-z\d]+/, '') || 'product'
  )
}

const root = dirname(packageFile)
const isCheckout = moduleExtension === '.ts'

/**
 * Gives a project the packages of this version. A checkout, or a project that was made from one, copies them to `vendor/`, because no
 * registry has them.
 * @returns what the project's package.json names as the version of postern
 * @throws CommandFailure if the packages cannot be built
 */
function providePackages(project: string): string {
  if (isCheckout) {
    // Standard output belongs to the command.
    const { status } = spawnSync(
      process.execPath,
      [join(root, 'scripts/run.mjs'), '--script', 'scripts/vendor.mjs', project],
      { cwd: root, stdio: ['ignore', 2, 2] },
    )
    if (status !== 0) throw new CommandFailure('the packages could not be built: see the messages above')
    return vendored
  }
  const tarball = ownTarball()
  if (tarball === undefined) return `^${version}`
  mkdirSync(join(project, 'vendor'), { recursive: true })
  for (const name of ['postern.tgz', 'postern-client.tgz']) {
    const source = name === 'postern.tgz' ? tarball : join(dirname(tarball), name)
    if (existsSync(source)) copyFileSync(source, join(project, 'vendor', name))
  }
  return vendored
}

const vendored = 'file:vendor/postern.tgz'

/** The file that npm installed this package from; undefined if it came from a registry. */
function ownTarball(): string | undefined {
  const modules = dirname(root)
  const record = join(modules, '.package-lock.json')
  if (!existsSync(record)) return undefined
  const { packages } = JSON.parse(readFileSync(record, 'utf8')) as {
    packages: Record<string, { resolved?: string }>
  }
  const { resolved } = packages['node_modules/postern'] ?? {}
  return resolved?.startsWith('file:') ? resolve(dirname(modules), resolved.slice('file:'.length)) : undefined
}

/**
 * Commands for a machine whose own Node.js is too old for a project. A checkout runs on its own Node.js, which serves the project too.
 * @param agent the user agent of npm, which names the machine's version
 */
async function nodeAdvice(agent = process.env['npm_config_user_agent']): Promise<string> {
  const machine = / node\/v(\S+)/.exec(agent ?? '')?.[1]
  if (!isCheckout || machine === undefined) return ''
  const launcher = (await import(pathToFileURL(join(root, 'bin/launch.mjs')).href)) as {
    isNewEnough: (version: string) => boolean
    neededNode: string
  }
  if (launcher.isNewEnough(machine)) return ''
  const own = dirname(process.execPath)
  return `The project needs ${launcher.neededNode}; this machine has ${machine}. Install a newer one, or use the checkout's in each terminal:

  export PATH="${own}:$PATH"

`
}

interface ProjectParts {
  /** The name of the package: lower case letters, digits and dashes. */
  name: string
  /** The version of Postern in package.json, or the file that has it. */
  version: string
  /** Whether to leave out the sample: a source with its handler, table, list and test. */
  empty: boolean
}

/** The files of a new project, by their paths. */
export function projectFiles({ name, version, empty }: ProjectParts): Readonly<Record<string, string>> {
  const secret = (bytes = 32): string => randomBytes(bytes).toString('base64url')
  const samples = {
    'postern.config.ts': configuration,
    'migrations/0001-invoices.sql': migration,
    'postern.test.ts': test,
  }
  return {
    'package.json': `${JSON.stringify(manifest(name, version), undefined, 2)}\n`,
    'tsconfig.json': tsconfig,
    ...(empty ? { 'postern.config.ts': emptyConfiguration } : samples),
    '.env': `# The settings of this machine. Do not commit this file.
POSTERN_SECRET=${secret()}
WEBHOOK_SECRET=whsec_${randomBytes(24).toString('base64')}
STRIPE_WEBHOOK_SECRET=whsec_${secret()}
ADMIN_API_KEY=pk_${secret(24)}
`,
    '.env.example': environmentExample,
    '.gitignore': 'node_modules/\ndata/\n.env\n',
    'compose.yaml': compose,
    'README.md': readme(name, empty),
  }
}

function manifest(name: string, version: string): object {
  return {
    name,
    private: true,
    type: 'module',
    scripts: {
      dev: 'postern dev',
      start: 'postern serve',
      test: 'node --test',
      doctor: 'postern doctor',
    },
    dependencies: { postern: version },
    engines: { node: '>=22.20 <23 || >=24.7' },
  }
}

const tsconfig = `{
  "compilerOptions": {
    "target": "esnext",
    "module": "nodenext",
    "noEmit": true,
    "strict": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true
  }
}
`

const configuration = `import { defineConfig, list, stripe } from 'postern'

type Tables = {
  invoices: { id: string; amount: number; paid_at: string }
}

export default defineConfig({
  receiving: {
    // Stripe sends its webhooks to /webhooks/stripe.
    sources: { stripe: stripe({ secret: process.env['STRIPE_WEBHOOK_SECRET'] ?? '' }) },
    handlers: {
      // Runs once for each event. What it writes with \`tx\` and what it emits is committed together, or not at all.
      'invoice.paid': async (event, { tx, emit }) => {
        const { id, amount_paid: amount } = event.payload.data.object as { id: string; amount_paid: number }
        await tx
          .withTables<Tables>()
          .insertInto('invoices')
          .values({ id, amount, paid_at: event.receivedAt.toISOString() })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute()
        emit({ type: 'invoice.recorded', data: { id, amount } })
      },
    },
  },
  listing: {
    lists: [
      // GET /invoices: pages with cursors, filters and sorts.
      list({
        path: '/invoices',
        table: 'invoices',
        fields: { id: { type: 'text' }, amount: { type: 'integer' }, paidAt: { type: 'text', column: 'paid_at' } },
        key: 'id',
        filters: { minAmount: { kind: 'atLeast', field: 'amount' } },
        sort: ['amount', 'id'],
      }),
    ],
  },
  login: {
    // A person who signs in with another provider but the same address is asked whether to link the two.
    sameAddress: 'offer',
    // Your application. It signs people in with /auth/{provider}?client_id=web and PKCE.
    clients: [{ id: 'web', redirectUris: ['http://localhost:5173/callback'] }],
  },
})
`

const emptyConfiguration = `import { defineConfig } from 'postern'

export default defineConfig({
  receiving: {},
  login: {
    // A person who signs in with another provider but the same address is asked whether to link the two.
    sameAddress: 'offer',
  },
})
`

const migration = `-- Applied once by \`postern serve\` and \`postern migrate\`, on SQLite and on PostgreSQL. Write changes in new files.
create table invoices (
  id text primary key,
  amount bigint not null,
  paid_at text not null
);
create index invoices_by_amount on invoices (amount, id);
`

const test = `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestKit, type TestKit } from 'postern/testing'
import config from './postern.config.ts'

let kit: TestKit
before(async () => {
  kit = await startTestKit(config, { migrations: 'migrations' })
})
after(() => kit.close())

test('a paid invoice is recorded once, however often Stripe sends it', async () => {
  const webhook = { id: 'evt_1', type: 'invoice.paid', data: { id: 'in_1', amount_paid: 4200 } }
  const first = await kit.receive('stripe', webhook)
  assert.equal(first.error, undefined)
  assert.deepEqual(first.emitted.map(({ type }) => type), ['invoice.recorded'])
  await kit.receive('stripe', webhook)
  const rows = await kit.db.selectFrom('invoices').select(['id', 'amount']).execute()
  assert.deepEqual(rows.map(({ id, amount }) => [id, Number(amount)]), [['in_1', 4200]])
})
`

const environmentExample = `# Copy this file to .env and fill it in. Generate secrets with: openssl rand -base64 32
POSTERN_SECRET=
WEBHOOK_SECRET=
STRIPE_WEBHOOK_SECRET=
ADMIN_API_KEY=
# In production:
# NODE_ENV=production
# BASE_URL=https://gate.example.com
# DATABASE_URL=postgres://postern:password@localhost:5432/postern
# GOOGLE_CLIENT_ID=
# GOOGLE_CLIENT_SECRET=
`

const compose = `# PostgreSQL, for DATABASE_URL=postgres://postern:postern@localhost:5432/postern
services:
  database:
    image: postgres:18
    environment:
      POSTGRES_USER: postern
      POSTGRES_PASSWORD: postern
    ports:
      - 127.0.0.1:5432:5432
    volumes:
      - database:/var/lib/postgresql
volumes:
  database:
`

function readme(name: string, empty: boolean): string {
  const { usage, files, end } = empty ? emptyTexts : sampleTexts
  return `# ${name}

    npm install
    npm run dev     # the service, restarted when a file changes
${usage}
| file | content |
| --- | --- |
| \`postern.config.ts\` | webhook sources, handlers, lists and applications |
${files}| \`.env\` | this machine's settings; \`.env.example\` lists them |
| \`vendor/\` | the packages \`postern\` and \`postern-client\`; commit them |

${end}
`
}

const emptyTexts = {
  usage: '',
  files: '',
  end: 'Create your tables in `migrations/0001-NAME.sql`. http://127.0.0.1:3000/dashboard shows incoming events, http://127.0.0.1:3000/docs the API.',
}

const sampleTexts = {
  usage: `    npm test        # the handlers, without a network

Then, in another terminal:

    npx postern trigger stripe invoice.paid --data '{"id":"in_1","amount_paid":4200}'
    curl http://127.0.0.1:3000/invoices -H "authorization: Bearer $(grep ^ADMIN_API_KEY .env | cut -d= -f2-)"
`,
  files: `| \`migrations/\` | your tables |
| \`postern.test.ts\` | tests of the handlers |
`,
  end: `http://127.0.0.1:3000/dashboard shows incoming events, http://127.0.0.1:3000/docs the API. For production, see the settings at the end of
\`.env.example\`, and run \`npm run doctor\`.`,
}
