import { en } from '../../http/pages/language/en.ts'

const { unknown: _unknown, ...failures } = en.failures

/** The failure codes of /login?error=…. The page shows a message for each. */
export type FailureCode = keyof typeof failures

export function isFailureCode(text: string): text is FailureCode {
  return Object.hasOwn(failures, text)
}

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
