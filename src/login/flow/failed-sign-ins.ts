import type { FastifyRequest } from 'fastify'
import { type Audit, auditOrigin } from '../../accounts/audit/audit.ts'
import { referenceOf } from '../../http/pages/page-view.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { describeCause, type RefusalMessages, type SignInFailure } from './failures.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import { defaultTarget } from './return-to.ts'

export interface FailedSignInsParts {
  audit: Audit
  refusals: RefusalMessages
  baseUrl: () => string
  /** Counts how sign-ins end: `ok`, or the code of the failure. */
  count: (provider: string, outcome: string) => void
}

interface FailedSignIn {
  providerClient: ProviderClient
  failure: SignInFailure
  /** The user who was linking an identity; `undefined` for a sign-in. */
  linkingUserId: string | undefined
}

/** Logs and audits a failed sign-in or a failed link, and counts a sign-in. */
export async function recordFailure(
  { count, audit }: FailedSignInsParts,
  request: FastifyRequest,
  { providerClient, failure, linkingUserId }: FailedSignIn,
): Promise<void> {
  const provider = providerClient.provider.name
  const { code, details, cause } = failure
  // The audit log, from which a provider's page counts, has links under names of their own.
  if (linkingUserId === undefined) count(provider, code)
  const line = { provider, failure: code, causes: describeCause(cause) }
  const storageFailed = cause instanceof StorageUnavailable
  const isServiceFault = code === 'hook-failed' || (code === 'unavailable' && !storageFailed)
  if (isServiceFault) request.log.error({ ...line, err: cause }, 'sign-in failed')
  else request.log.warn(line, 'sign-in failed')
  // The audit log is in the database that does not answer.
  if (storageFailed) return
  await audit.note({
    ...auditOrigin(request),
    action: linkingUserId === undefined ? 'sign_in.failed' : 'identity.link_failed',
    actor: linkingUserId === undefined ? undefined : `user:${linkingUserId}`,
    userId: linkingUserId ?? details.userId,
    provider,
    providerId: details.providerId,
    code,
  })
}

/**
 * The path of /login with the code, the reference ID and a hook's message.
 * @param returnTo where the next attempt leads; left out for the dashboard
 */
export function failurePath(
  { refusals, baseUrl }: FailedSignInsParts,
  request: FastifyRequest,
  {
    providerClient,
    failure,
    returnTo,
  }: { providerClient: ProviderClient; failure: SignInFailure; returnTo: string | undefined },
): string {
  const { code, details } = failure
  const referenceId = referenceOf(request.id)
  const signed = details.message ? refusals.sign(referenceId, details.message) : {}
  const query = new URLSearchParams({
    error: code,
    id: referenceId,
    provider: providerClient.provider.name,
    ...signed,
    ...(returnTo !== undefined && returnTo !== defaultTarget(baseUrl()) && { return_to: returnTo }),
  })
  return `${request.server.basePath}/login?${query.toString()}`
}
