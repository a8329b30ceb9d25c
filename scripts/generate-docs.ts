/**
 * Writes docs/reference/ from the code: settings, problems, HTTP calls. With `--check` it writes nothing and fails when
 * a file is not what the code says.
 */
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readEnvironment } from '../src/config/environment.ts'
import { settings } from '../src/config/settings.ts'
import { problems } from '../src/errors.ts'
import { startService } from '../src/service.ts'
import { createLog } from '../src/telemetry/log.ts'

const folder = join(import.meta.dirname, '../docs/reference')
const head = (title: string, source: string): string =>
  `# ${title}\n\nGenerated from ${source} by \`npm run docs\`; do not edit.\n\n`
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const table = (columns: string[], rows: string[][]): string =>
  [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |\n`).join('')

function settingsPage(): string {
  const rows = Object.values(settings).map((setting) => {
    const fallback = 'default' in setting ? `\`${setting.default || ' '}\`` : ''
    const demo = 'demoDefault' in setting ? `, in demo mode \`${setting.demoDefault}\`` : ''
    const required = 'requiredInProduction' in setting ? 'required in production' : ''
    return [`\`${setting.env}\``, setting.description, `${fallback}${demo}${required}`.replace('` `', '')]
  })
  const families = [
    [
      '`<NAME>_CLIENT_ID`, `<NAME>_CLIENT_SECRET`',
      'Turns on the provider NAME: a preset (GOOGLE, GITHUB), or any other with the settings below. Without the secret it is used with PKCE alone.',
    ],
    ['`<NAME>_ISSUER`', 'Any OpenID Connect provider, by discovery.'],
    [
      '`<NAME>_AUTH_URL`, `<NAME>_TOKEN_URL`, `<NAME>_PROFILE_URL`',
      'Any plain OAuth 2.0 provider. Its profile is read as `id`, `displayName`, `emails[0].value`, or `sub`, `name`, `email`.',
    ],
    ['`<NAME>_SCOPE`', 'The scopes to ask for, separated by spaces.'],
  ]
  return `${head('Settings', '`src/config/settings.ts`')}Settings are environment variables; an empty one counts as absent.\n\n${table(['variable', 'meaning', 'default'], rows)}\n## Identity providers\n\n${table(['variables', 'meaning'], families)}`
}

function problemsPage(): string {
  const rows = Object.entries(problems).map(([code, [status, title, advice]]) => [
    `\`${code}\``,
    String(status),
    title,
    advice,
  ])
  return `${head('Problems', '`src/errors.ts`')}Errors are RFC 9457 problem details (\`application/problem+json\`) with a stable \`code\`. The one exception is the text \`invalid signature\` with status 401 to a sender of webhooks.\n\n${table(['code', 'status', 'title', 'what to do'], rows)}`
}

interface Operation {
  tags?: string[]
  summary?: string
  security?: Record<string, string[]>[]
}

async function callsPage(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'postern-docs-'))
  const secret = 'x'.repeat(32)
  const configuration = readEnvironment({
    NODE_ENV: 'production',
    BASE_URL: 'https://gate.example.com',
    PORT: '0',
    POSTERN_SECRET: secret,
    WEBHOOK_SECRET: secret,
    DATABASE_URL: `sqlite:${join(home, 'docs.db')}`,
  })
  const service = await startService({
    configuration,
    log: createLog('silent'),
    roles: { http: false, workers: false },
  })
  try {
    const { paths = {} } = service.app.swagger() as { paths?: Record<string, Record<string, Operation>> }
    const rows = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { tags = [], summary = '', security = [] }]) => [
        tags[0] ?? '',
        `\`${method.toUpperCase()} ${path}\``,
        summary,
        security.length === 0 ? 'public' : security.flatMap((one) => Object.keys(one)).join(' or '),
      ]),
    )
    const groups = [...new Set(rows.map(([tag]) => tag!))]
    const sections = groups.map(
      (tag) =>
        `## ${tag}\n\n${table(
          ['call', 'what', 'credential'],
          rows.filter(([own]) => own === tag).map(([, ...cells]) => cells),
        )}`,
    )
    return `${head('HTTP calls', 'the route schemas')}The whole description, with every parameter and field, is \`GET /openapi.json\`; \`GET /docs\` shows it.\n\n${sections.join('\n')}`
  } finally {
    await service.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

const pages = { 'settings.md': settingsPage(), 'problems.md': problemsPage(), 'http.md': await callsPage() }
const check = process.argv.includes('--check')
let stale = 0
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(pages)) {
  const file = join(folder, name)
  if (!check) {
    writeFileSync(file, text)
    process.stdout.write(`docs/reference/${name}\n`)
  } else if (!sameText(file, text)) {
    stale += 1
    process.stdout.write(`docs/reference/${name} is not what the code says: run npm run docs\n`)
  }
}
process.exitCode = stale === 0 ? 0 : 1

function sameText(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8') === text
  } catch {
    return false
  }
}
