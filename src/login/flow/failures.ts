/** The failure codes of /login?error=… and the messages that the page shows for them. */
export const failures = {
  'sign-in-expired':
    'This sign-in was begun in another browser, took longer than ten minutes, or was finished already. Please try again.',
  'access-denied': 'The sign-in was cancelled at the provider.',
  'provider-refused':
    'The identity provider refused the sign-in. Please try again; if it goes on, tell the operator the number below.',
  'provider-unavailable':
    'The identity provider does not answer at the moment. Please try again in a minute.',
  'provider-answer-invalid':
    'The identity provider gave an answer that could not be trusted. Please try again; if it goes on, tell the operator the number below.',
  'account-not-admitted':
    'This account is not one of those that may sign in here. Please choose an account of your organization, whose e-mail address is verified.',
  'account-blocked': 'This account is blocked. Ask the operator.',
  refused: 'You may not sign in here.',
  'hook-failed':
    'The sign-in could not be finished. Please try again; if it goes on, tell the operator the number below.',
  'identity-taken': 'This identity belongs to another account here, so nothing was linked.',
  'reauthentication-needed':
    'Please sign in again: identities can be linked and unlinked only shortly after a sign-in. Then do it once more.',
  'reauthentication-unproven':
    'The identity provider did not show that you signed in there again just now. Sign out there and try again; if it goes on, tell the operator the number below.',
  'issuer-changed':
    'This account belongs to another server of the identity provider than the one that is configured now. Tell the operator the number below.',
  'session-changed':
    'You were signed out, or signed in as somebody else, while the identity was being linked. Please sign in and link it again.',
  unavailable: 'The service cannot sign anybody in at the moment. Please try again in a minute.',
} as const

export type FailureCode = keyof typeof failures

export interface FailureDetails {
  /** The user of the identity. */
  userId?: string
  /** The provider's id of the verified identity. */
  providerId?: string
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
