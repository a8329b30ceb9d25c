// `npm run docs`: writes docs/reference/ from the code: settings, problems, commands, HTTP calls; the types of the calls for the client
// library; the pages of senders and of providers in docs/guides; the programs on the page docs/guides/customers/verify.md; the drawings of diagrams in docs/diagrams/; and the figures on docs/comparison.md and docs/understanding/limits.md.
// With `--check` it writes nothing, and fails when a file is not what the code says.
import { globSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { typesOf, type OpenApiDocument } from '../packages/client/src/types-of.ts'
import { readEnvironment } from '../src/config/environment.ts'
import { companions } from '../src/config/providers.ts'
import { settings } from '../src/config/settings.ts'
import { problems } from '../src/errors.ts'
import { scopes } from '../src/http/access/principal.ts'
import { presets } from '../src/login/providers/presets.ts'
import { startService } from '../src/service.ts'
import { createLog } from '../src/telemetry/log.ts'
import { readOptions } from '../test/harness/script-options.ts'
import { drawings } from './diagrams.ts'
import { commandsPage } from './commands-page.ts'
import { comparisons, limits, withFigures } from './measured-figures.ts'
import { isProving, protocolOf, providerPages } from './provider-pages.ts'
import { senderPages } from './sender-pages.ts'
import { withReceivers } from './verification-page.ts'

const { values } = readOptions(import.meta.filename, { options: { check: { type: 'boolean' } } })
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
  const families = Object.entries(companions).map(([suffix, { description }]) => [
    `\`<NAME>_${suffix}\``,
    description,
  ])
  return `${head('Settings', '`src/config/settings.ts`')}Settings are environment variables; an empty one counts as absent. \`NAME_FILE\` is the path of a file, at most 64 KiB, with the value of \`NAME\`. Setting both is an error.\n\n${table(['variable', 'meaning', 'default'], rows)}\n## Identity providers\n\nNAME is the provider's name in capitals: a [preset](providers.md), which can have further settings, or any other.\n\n${table(['variable', 'meaning'], families)}`
}

function providersPage(): string {
  const rows = Object.entries(presets).map(([name, preset]) => [
    `[\`${name}\`](../guides/providers/${name}.md)`,
    preset.label,
    protocolOf(preset),
    preset.scope === '' ? 'none' : `\`${preset.scope}\``,
    isProving(preset) ? 'yes' : 'no',
  ])
  const own = Object.entries(presets).flatMap(([name, { settings = {} }]) =>
    Object.entries(settings).map(([key, setting]) => [
      `\`${name.toUpperCase()}_${key}\``,
      setting.description,
      setting.default === undefined ? '' : `\`${setting.default}\``,
    ]),
  )
  const columns = ['preset', 'shown as', 'protocol and address', 'scopes', 'proves re-authentication']
  return `${head('Identity providers', '`src/login/providers/`')}Register the callback URL \`BASE_URL/auth/PRESET/callback\`. For setup, see the [guide](../guides/providers.md); for the settings of all providers, [Settings](settings.md#identity-providers). A provider proves a new authentication if it performs one on request (\`prompt=login\`, \`max_age\`) and reports its time in the id_token (\`auth_time\`); see [Accounts](../guides/accounts.md#recent-sign-ins).\n\n${table(columns, rows)}\n## Settings of single presets\n\nAnother instance uses its own name: \`WORK_TENANT\` beside \`WORK_PRESET=microsoft\`. In the configuration module they are below \`settings\`.\n\n${table(['variable', 'meaning', 'default'], own)}`
}

function problemsPage(): string {
  const rows = Object.entries(problems).map(([code, [status, title, advice]]) => [
    `\`${code}\``,
    String(status),
    title,
    advice,
  ])
  return `${head('Problems', '`src/errors.ts`')}Errors are RFC 9457 problem details (\`application/problem+json\`) with a stable \`code\`. A sender of webhooks gets the text \`invalid signature\` with status 401 instead.\n\n${table(['code', 'status', 'title', 'what to do'], rows)}`
}

interface Operation {
  tags?: string[]
  summary?: string
  security?: Record<string, string[]>[]
}

async function readOpenApi(): Promise<unknown> {
  const home = mkdtempSync(join(tmpdir(), 'postern-docs-'))
  const secret = 'never used: nothing is served by this'
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
    return service.app.swagger()
  } finally {
    await service.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

function callsPage(document: unknown): string {
  const { paths = {}, tags: order = [] } = document as {
    paths?: Record<string, Record<string, Operation>>
    tags?: { name: string }[]
  }
  const alike = (path: string, method: string, operation: Operation): boolean =>
    paths[path]?.[method]?.summary === operation.summary
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      // Said once, with the same call outside of the portal.
      .filter(
        ([method, one]) => !path.startsWith('/portal/') || !alike(path.slice('/portal'.length), method, one),
      )
      .map(([method, one]) => [
        one.tags?.[0] ?? '',
        `\`${method.toUpperCase()} ${path}\``,
        one.summary ?? '',
        [
          ...credentialsOf(one.security ?? []),
          ...(alike(`/portal${path}`, method, one) ? ['portal'] : []),
        ].join(', '),
      ]),
  )
  const used = new Set(rows.map(([tag]) => tag!))
  const groups = [...new Set([...order.map(({ name }) => name).filter((name) => used.has(name)), ...used])]
  const sections = groups.map(
    (tag) =>
      `## ${tag}\n\n${table(
        ['request', 'purpose', 'needs'],
        joined(rows.filter(([own]) => own === tag).map(([, ...cells]) => cells)),
      )}`,
  )
  return `${head('HTTP API', 'the route schemas')}\`GET /docs\` shows all parameters and fields, from \`GET /openapi.json\`. The column "needs" names the credential:

- a scope: an API key with this scope or \`admin\`, or an administrator's session or access token. Of several scopes, one is enough;
- \`portal\`: a portal session. Beside a scope, the path also exists below \`/portal\`, such as \`GET /portal/subscribers\`;
- \`bearer\`: an access token or API key; \`session\`: the session cookie. API keys reach only paths with a scope;
- nothing: public.

${table(
  ['scope', 'an API key with it can'],
  Object.entries(scopes).map(([scope, meaning]) => [`\`${scope}\``, meaning]),
)}
${sections.join('\n')}`
}

/** Calls that differ only in their addresses share a row. */
function joined(rows: string[][]): string[][] {
  const groups = Map.groupBy(rows, ([, what, needs]) => `${what}\n${needs}`)
  return [...groups.values()].map((alike) => [
    alike.map(([call]) => call!).join(', '),
    alike[0]![1]!,
    alike[0]![2]!,
  ])
}

/** The scopes of a call, or its credentials if it has no scope. */
function credentialsOf(security: readonly Record<string, string[]>[]): string[] {
  const needed = security.flatMap(({ bearer = [] }) => bearer)
  return needed.length > 0
    ? needed.map((scope) => `\`${scope}\``)
    : [...new Set(security.flatMap((one) => Object.keys(one)))]
}

const verifyPage = '../guides/customers/verify.md'
const comparisonPage = '../comparison.md'
const limitsPage = '../understanding/limits.md'
const openApi = await readOpenApi()
const pages: Record<string, string> = {
  'settings.md': settingsPage(),
  'providers.md': providersPage(),
  'problems.md': problemsPage(),
  'commands.md': commandsPage(head('Commands', '`src/cli/program.ts`'), table),
  'http.md': callsPage(openApi),
  // The text of these is written by hand.
  [verifyPage]: withReceivers(readFileSync(join(folder, verifyPage), 'utf8')),
  [comparisonPage]: withFigures(readFileSync(join(folder, comparisonPage), 'utf8'), comparisons),
  [limitsPage]: withFigures(readFileSync(join(folder, limitsPage), 'utf8'), limits),
  '../../packages/client/src/api/calls.ts': `// Generated from the route schemas by \`npm run docs\`; do not edit.\n${typesOf(openApi as OpenApiDocument)}`,
}
for (const [kind, ofKind] of Object.entries({ senders: senderPages(), providers: providerPages() }))
  for (const [name, page] of Object.entries(ofKind)) pages[`../guides/${kind}/${name}.md`] = page
for (const [name, svg] of drawings()) pages[`../${name}`] = svg

let stale = 0
mkdirSync(folder, { recursive: true })
mkdirSync(join(folder, '../diagrams'), { recursive: true })
for (const name of globSync('../diagrams/*.svg', { cwd: folder })) {
  if (name in pages) continue
  if (!values.check) rmSync(join(folder, name))
  else {
    stale += 1
    process.stdout.write(`${join('docs/reference', name)} is the drawing of no diagram: run npm run docs\n`)
  }
}
for (const [name, text] of Object.entries(pages)) {
  const file = join(folder, name)
  if (!values.check) {
    writeFileSync(file, text)
    process.stdout.write(`${join('docs/reference', name)}\n`)
  } else if (!sameText(file, text)) {
    stale += 1
    process.stdout.write(`${join('docs/reference', name)} is not what the code says: run npm run docs\n`)
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
