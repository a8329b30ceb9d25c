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

/** Whether it can be asked to authenticate the user again, and proves it. */
export const isProving = (preset: Preset): boolean =>
  preset.provesAuthentication ?? preset.endpoints((key) => key).issuer !== undefined

function providerPage(name: string, preset: Preset): string {
  const { label } = preset
  const { introduction, section, rows } = readParts(folder, name)
  return joined(
    `# Sign in with ${label}`,
    mark(folder, name),
    introduction,
    summaryOf(name, preset),
    section('before') === '' ? '' : joined('## Before you begin', section('before')),
    '## Register the application',
    section('register').replace('{callback}', `https://gate.example.com/auth/${name}/callback`),
    '## Configure Postern',
    'Set these [variables](../providers.md#turn-one-on):',
    section('settings'),
    section('after'),
    '## User data',
    tableOf(['field', 'from'], `${section('data')}\n${tokenRows(preset, section)}`),
    '## Try it locally',
    section('local') === 'localhost'
      ? `Also register \`http://localhost:3000/auth/${name}/callback\`, and start Postern with \`BASE_URL=http://localhost:3000\`.`
      : section('local'),
    '## Limit who can sign in',
    limitOf(name, label, section('limit')),
    '## Troubleshooting',
    tableOf(['problem', 'solution'], rows('faults')),
    `[All codes](../providers.md#when-it-fails). Sources: ${section('links')}.`,
  )
}

/** Two words stand for what several pages say. */
function limitOf(name: string, label: string, text: string): string {
  if (text === 'domain')
    return `\`${name.toUpperCase()}_ALLOWED_EMAIL_DOMAINS=example.com\` allows [verified addresses of a domain](../providers.md#limit-who-can-sign-in).`
  if (text === 'none')
    return `${label} sends neither groups nor a verified address. Use an [\`onSignUp\` hook](../accounts/hooks.md).`
  return text
}

function summaryOf(name: string, preset: Preset): string {
  const { scope, groups } = preset
  const scopes = `${scope === '' ? 'none' : `\`${scope}\``}${groups ? `; for groups also \`${groups.scope}\`` : ''}`
  const proofs = preset.pkce === false ? ', without PKCE and nonce' : ''
  return `Preset \`${name}\`${proofs}. Scopes: ${scopes}.`
}

/** Only what a preset does differently: the overview describes the rest. */
function tokenRows(preset: Preset, section: (name: string) => string): string {
  const { scope, authParams = {} } = preset.storedTokens ?? {}
  const parameters = Object.entries(authParams).map(([key, value]) => `\`${key}=${value}\``)
  const added = scope === undefined ? parameters : [`the scope \`${scope}\``, ...parameters]
  const requests =
    added.length === 0 ? [] : [`[\`keepTokens\`](../accounts/provider-tokens.md) adds ${added.join(' and ')}`]
  const tokens = [...requests, ...[section('refresh token')].filter((remark) => remark !== '')]
  const proof = section('re-authentication')
  return [
    ...(tokens.length === 0 ? [] : [`| refresh token | ${tokens.join('; ')} |\n`]),
    ...(proof === '' ? [] : [`| re-authentication | ${proof} |\n`]),
  ].join('')
}
