import { checkLimit as timeout, checkProvider } from '../login/check-provider.ts'
import type { ResolvedProvider } from '../login/providers/resolved-provider.ts'
import { createGuardedFetch } from '../network/guarded-fetch.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Finding } from './finding.ts'

/** Reaches every provider as sign-ins will. */
export async function checkProviders(
  providers: readonly ResolvedProvider[],
  allowPrivateNetwork: boolean,
): Promise<Finding[]> {
  const agent = createOutboundAgent({ allowPrivateNetwork, timeout })
  const guarded = createGuardedFetch({ agent, allowPrivateNetwork, timeout })
  try {
    return await Promise.all(
      providers.map(async (provider) => ({
        about: `provider ${provider.name}`,
        ...(await checkProvider(provider, guarded, { clock: systemClock, allowPrivateNetwork })),
      })),
    )
  } finally {
    await agent.destroy()
  }
}
