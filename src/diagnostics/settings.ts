import { weakSecrets, type InspectedConfiguration } from './configuration.ts'
import { fault, ok, warning, type Finding } from './finding.ts'
import { checkLimit as timeout, checkProvider } from '../login/check-provider.ts'
import type { ResolvedProvider } from '../login/providers/resolved-provider.ts'
import { openGuardedFetch } from '../network/guarded-fetch.ts'
import { systemClock } from '../runtime/clock.ts'

/** What is wrong with the settings, and what of them is dangerous in production. */
export function checkSettings(inspected: InspectedConfiguration): Finding[] {
  const { configuration, config, providers, faults, misspelled } = inspected
  const findings = faults.map((text) => fault('settings', text))
  const { production, demo, baseUrl, adminApiKey, adminIdentities = [], allowPrivateNetwork } = configuration
  if (faults.length === 0)
    findings.push(ok('settings', production ? 'production' : demo ? 'demo mode' : 'development'))
  for (const text of misspelled) findings.push(warning('settings', text))
  for (const text of weakSecrets(configuration, config)) findings.push(warning('secrets', text))
  if (!production) return findings
  const hasAdminGroup = providers.some(({ groups }) => groups.admin.length > 0)
  const risks: [isRisk: unknown, about: string, text: string, advice?: string][] = [
    [
      baseUrl?.startsWith('http:'),
      'BASE_URL',
      'uses http on loopback: session cookies are not Secure. Use it for testing only.',
    ],
    [
      providers.length === 0,
      'sign-in',
      'no identity provider is configured',
      'set <NAME>_CLIENT_ID and <NAME>_CLIENT_SECRET',
    ],
    [
      !adminApiKey && adminIdentities.length === 0 && !hasAdminGroup,
      'admins',
      'no setting names an admin',
      'set ADMIN_IDENTITIES, or run `postern users role USER admin` after the first sign-in',
    ],
    [
      allowPrivateNetwork,
      'ALLOW_PRIVATE_NETWORK',
      'is on: endpoints can make this service call addresses inside your network',
    ],
  ]
  for (const [isRisk, ...finding] of risks) if (isRisk) findings.push(warning(...finding))
  return findings
}

/** Reaches every provider as sign-ins will. */
export async function checkProviders(
  providers: readonly ResolvedProvider[],
  allowPrivateNetwork: boolean,
): Promise<Finding[]> {
  const { fetch, destroy } = openGuardedFetch({ allowPrivateNetwork, timeout })
  try {
    return await Promise.all(
      providers.map(async (provider) => ({
        about: `provider ${provider.name}`,
        ...(await checkProvider(provider, fetch, { clock: systemClock, allowPrivateNetwork })),
      })),
    )
  } finally {
    await destroy()
  }
}
