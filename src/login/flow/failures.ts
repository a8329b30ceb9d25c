import { en } from '../../http/pages/language/en.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { referenceOf } from '../../http/pages/page-view.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { AccountNotAdmitted, providerErrorCode } from '../provider-client/provider-errors.ts'
import type { LoginServices } from '../services.ts'
import { loginPath } from '../../http/requests/base-path.ts'

const { unknown: _unknown, ...failures } = en.failures

/** The failure codes of /login?error=…. The page shows a message for each. */
export type FailureCode = keyof typeof failures

export function isFailureCode(text: string): text is FailureCode {
  return Object.hasOwn(failures, text)
}

interface FailureDetails {
  /** The user of the identity. */
  userId?: string
  /** The provider's id of the verified identity. */
  providerId?: string | undefined
  /** A hook's message for the person. */
  message?: string
}

/** Ends a sign-in with a code. The cause is logged and never shown. */
export class SignInFailure extends Error {
  readonly code: FailureCode
  readonly details: FailureDetails

  constructor(code: FailureCode, cause?: unknown, details: FailureDetails = {}) {
    super(failures[code], cause === undefined ? undefined : { cause })
    this.name = 'SignInFailure'
    this.code = code
    this.details = details
  }

  /** The same failure with more details; existing ones stay. */
  withDetails(details: FailureDetails): SignInFailure {
    return new SignInFailure(this.code, this.cause, { ...details, ...this.details })
  }
}

/** The failure of a sign-in for an error of its provider, or of the provider's client. */
export function providerFailure(error: unknown): SignInFailure {
  const details = error instanceof AccountNotAdmitted ? { providerId: error.providerId } : {}
  return new SignInFailure(providerErrorCode(error), error, details)
}

/**
 * The loggable parts of an error and its causes: names, codes and messages. Protocol errors also hold the provider's
 * response, which may contain tokens; that is left out.
 */
export function describeCause(
  error: unknown,
): { name: string; message: string; code?: string; error?: string }[] {
  const chain = []
  for (let current = error; current instanceof Error && chain.length < 6; current = current.cause) {
    const { name, message, code, error: oauthError } = current as Error & { code?: unknown; error?: unknown }
    chain.push({
      name,
      message: message.slice(0, 1_200),
      ...(typeof code === 'string' && { code }),
      ...(typeof oauthError === 'string' && { error: oauthError.slice(0, 100) }),
    })
  }
  return chain
}

const purpose = 'refusal'

/**
 * The query parameters of the message of a hook that refused a sign-in, signed, since it travels to /login in the query string. The
 * signature covers the reference ID too. Without it, anybody could make a link to /login that shows a text of their choice.
 */
function signedMessage(keyring: Keyring, referenceId: string, message: string): Record<string, string> {
  return { message, proof: keyring.proof(`${referenceId}\n${message}`, purpose) }
}

/** The message, when this service signed it for this reference ID. */
export function verifiedMessage(
  keyring: Keyring,
  { id, message, proof }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (id === undefined || message === undefined || proof === undefined) return undefined
  return keyring.verify(`${id}\n${message}`, proof, purpose) ? message : undefined
}

/** A sign-in, or a link, that failed. */
interface FailedSignIn {
  /** The name of the provider. */
  provider: string
  failure: SignInFailure
  /** The user who was linking an identity; `undefined` for a sign-in. */
  linkingUserId?: string | undefined
  /** Where the next attempt leads; left out for the dashboard. */
  returnTo?: string | undefined
  /** The id of an offer that is still open. */
  offer?: string | undefined
  /** The invitation of the sign-in: the next attempt uses it, too. */
  invitation?: Uint8Array | null | undefined
}

/** Logs and audits a failed sign-in or a failed link, and counts a sign-in. */
export async function recordFailure(
  { signInsEnded, audit }: LoginServices,
  request: FastifyRequest,
  { provider, failure, linkingUserId }: FailedSignIn,
): Promise<void> {
  const { code, details, cause } = failure
  // The audit log, from which a provider's page counts, has links under names of their own.
  if (linkingUserId === undefined) signInsEnded.inc({ provider, outcome: code })
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

/** The path of /login with the code, the reference ID and a hook's message. */
export function failurePath(
  { keyring }: LoginServices,
  request: FastifyRequest,
  { provider, failure, returnTo, offer, invitation }: FailedSignIn,
): string {
  const { code, details } = failure
  const referenceId = referenceOf(request.id)
  const signed = details.message ? signedMessage(keyring, referenceId, details.message) : {}
  return loginPath(request.server.basePath, {
    error: code,
    id: referenceId,
    provider,
    ...signed,
    offer,
    invitation: invitation ? 'true' : undefined,
    return_to: returnTo,
  })
}
