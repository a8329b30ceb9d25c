import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserBinding } from '../../accounts/sessions/browser-binding.ts'
import { Problem } from '../../errors.ts'
import { wantsPage } from '../../http/requests/wants-page.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import { DiscoveryFailed } from '../provider-client/discovery.ts'
import { failurePath, recordFailure, type FailedSignInsParts } from './failed-sign-ins.ts'
import { SignInFailure } from './failures.ts'
import type { Flows, Intent } from './flows.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import { providerErrorCode } from '../provider-client/provider-errors.ts'

export interface StartParts extends FailedSignInsParts {
  providers: ReadonlyMap<string, ProviderClient>
  flows: Flows
  binding: BrowserBinding
  baseUrl: () => string
}

export const ReturnTo = optionalText('A path of this service to go to afterwards; default /dashboard')

/**
 * Starts a flow and gives the address at the provider. When the provider cannot be discovered, a browser is redirected to
 * /login and the result is `undefined`.
 * @throws Problem `provider-unavailable` for callers that do not want a page.
 */
export async function startFlow(
  parts: StartParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { providerClient, intent }: { providerClient: ProviderClient; intent: Intent },
): Promise<URL | undefined> {
  try {
    return await parts.flows.start(providerClient, parts.binding.of(request, reply).bind(), intent)
  } catch (error) {
    if (!(error instanceof DiscoveryFailed)) throw error
    const failure = new SignInFailure(providerErrorCode(error), error)
    const linkingUserId = intent.purpose === 'link' ? intent.userId : undefined
    await recordFailure(parts, request, { providerClient, failure, linkingUserId })
    if (!wantsPage(request)) throw new Problem('provider-unavailable', { retryAfter: 10 })
    void reply.redirect(
      failurePath(parts, request, { providerClient, failure, returnTo: intent.returnTo }),
      303,
    )
    return undefined
  }
}
