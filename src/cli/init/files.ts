import { randomBytes } from 'node:crypto'

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
    'README.md': empty ? emptyReadme(name) : readme(name),
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

function emptyReadme(name: string): string {
  return `# ${name}

    npm install
    npm run dev     # the service, restarted when a file changes

| file | content |
| --- | --- |
| \`postern.config.ts\` | webhook sources, handlers, lists and applications |
| \`.env\` | this machine's settings; \`.env.example\` lists them |
${ofPackages}
Create your tables in \`migrations/0001-NAME.sql\`. http://127.0.0.1:3000/dashboard shows incoming events, http://127.0.0.1:3000/docs the API.
`
}

function readme(name: string): string {
  return `# ${name}

    npm install
    npm run dev     # the service, restarted when a file changes
    npm test        # the handlers, without a network

Then, in another terminal:

    npx postern trigger stripe invoice.paid --data '{"id":"in_1","amount_paid":4200}'
    curl http://127.0.0.1:3000/invoices -H "authorization: Bearer $(grep ^ADMIN_API_KEY .env | cut -d= -f2-)"

| file | content |
| --- | --- |
| \`postern.config.ts\` | webhook sources, handlers, lists and applications |
| \`migrations/\` | your tables |
| \`postern.test.ts\` | tests of the handlers |
| \`.env\` | this machine's settings; \`.env.example\` lists them |
${ofPackages}
http://127.0.0.1:3000/dashboard shows incoming events, http://127.0.0.1:3000/docs the API. For production, see the settings at the end of
\`.env.example\`, and run \`npm run doctor\`.
`
}

const ofPackages = `| \`vendor/\` | the packages \`postern\` and \`postern-client\`; commit them |
`
