import type { Preset } from '../src/login/providers/preset.ts'
import { presets } from '../src/login/providers/presets.ts'
import { joined, mark, readParts, tableOf } from './page-parts.ts'

const folder = 'provider-pages'

/** The pages of presets in the folder docs/guides/providers, by the names of the presets. */
export function providerPages(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(presets).map(([name, preset]) => [name, providerPage(name, preset)]),
  )
}

/** Protocol and address, with the defaults of the preset's settings and the examples that their descriptions give. */
export function protocolOf({ settings = {}, endpoints }: Preset): string {
  const { issuer, authUrl = '' } = endpoints((key) => {
    const { default: fallback, optional, description } = settings[key]!
    return fallback ?? (optional ? '' : (/`([^`]+)`/.exec(description)?.[1] ?? key))
  })
  return issuer === undefined ? `OAuth 2.0, \`${authUrl}\`` : `OpenID Connect, \`${issuer}\``
}

/** Whether it can be asked for a new authentication, and proves it. */
export const isProving = (preset: Preset): boolean =>
  preset.provesAuthentication ?? preset.endpoints((key) => key).issuer !== undefined

function providerPage(name: string, preset: Preset): string {
  const { label } = preset
  const { introduction, section, rows } = readParts(folder, name)
  const callback = `https://gate.example.com/auth/${name}/callback`
  const variables = section('settings')
  return joined(
    `# Sign in with ${label}`,
    mark(folder, name),
    introduction,
    tableOf(['', ''], factsOf(name, preset, callback)),
    '## Before you begin',
    section('before'),
    '## Register the application',
    section('register').replace('{callback}', callback),
    '## Configure Postern',
    'Set these variables in the environment or in `.env`:',
    variables,
    section('after'),
    'Or use `postern.config.ts`, with the secret in the environment:',
    moduleOf(name, preset, variables),
    `Start Postern and open \`/login\`: it shows the button “Continue with ${label}”.`,
    '## User data',
    tableOf(['field', 'from'], `${section('data')}\n${tokenRows(preset, section)}\n`),
    '## Try it locally',
    section('local') === 'localhost'
      ? `${label} accepts \`http\` for \`localhost\`. Also register \`http://localhost:3000/auth/${name}/callback\`, and start Postern with \`BASE_URL=http://localhost:3000\`.`
      : section('local'),
    '## Limit who can sign in',
    section('limit'),
    '## Troubleshooting',
    tableOf(['problem', 'cause', 'solution'], rows('faults')),
    '[When it fails](../providers.md#when-it-fails) explains the codes that all providers share.',
    `Sources: ${section('links')}.`,
  )
}

function factsOf(name: string, preset: Preset, callback: string): string {
  const { scope, groups, settings = {}, signedSecret } = preset
  const keys = ['CLIENT_ID', ...(signedSecret ? [] : ['CLIENT_SECRET']), ...Object.keys(settings)]
  const facts = [
    ['preset', `\`${name}\``],
    ['protocol', `${protocolOf(preset)}${preset.pkce === false ? ', without PKCE and nonce' : ''}`],
    ['callback URL', `\`${callback}\` (\`BASE_URL/auth/${name}/callback\`)`],
    [
      'scopes',
      `${scope === '' ? 'none' : `\`${scope}\``}${groups ? `; for groups also \`${groups.scope}\`` : ''}`,
    ],
    ['variables', keys.map((key) => `\`${name.toUpperCase()}_${key}\``).join(', ')],
  ]
  return facts.map(([fact, value]) => `| ${fact} | ${value} |\n`).join('')
}

function tokenRows(preset: Preset, section: (name: string) => string): string {
  const { scope, authParams = {} } = preset.storedTokens ?? {}
  const parameters = Object.entries(authParams).map(([key, value]) => `\`${key}=${value}\``)
  const added = scope === undefined ? parameters : [`the scope \`${scope}\``, ...parameters]
  const requests = added.length === 0 ? '' : `, which adds ${added.join(' and ')}`
  const remark = section('refresh token') || (added.length === 0 ? `if ${preset.label} sends one` : '')
  const token = `with [\`keepTokens\`](../accounts/provider-tokens.md)${requests}${remark && `; ${remark}`}`
  const proof = isProving(preset) ? 'supported, proven by `auth_time`' : 'not supported'
  return `| refresh token | ${token.replace('; if', ', if')} |\n| new authentication | ${section('new authentication') || proof} |`
}

/** The configuration that says the same as the variables. */
function moduleOf(name: string, preset: Preset, variables: string): string {
  const valueOf = (key: string): string | undefined =>
    new RegExp(`^${name.toUpperCase()}_${key}=(.*)$`, 'm').exec(variables)?.[1]
  const settings = Object.keys(preset.settings ?? {}).flatMap((key) => {
    const value = valueOf(key)
    return value === undefined ? [] : [`${key}: '${value}'`]
  })
  const options = [
    `clientId: '${valueOf('CLIENT_ID')!}',`,
    ...(settings.length > 0 ? [`settings: { ${settings.join(', ')} },`] : []),
  ]
  return `\`\`\`ts
import { defineConfig } from 'postern'

export default defineConfig({
  login: {
    providers: {
      ${name}: {
${options.map((option) => `        ${option}\n`).join('')}      },
    },
  },
})
\`\`\``
}
