import type { SignatureFault, Rejected, Answered } from './scheme.ts'

export function refuse(detail: string, fault: SignatureFault = 'signature-wrong'): Rejected {
  return { rejected: 'signature', detail, fault }
}

export function malformed(detail: string): Rejected {
  return { rejected: 'malformed', detail }
}

/** The longest challenge that is echoed, in UTF-16 units. */
const longestEcho = 1_024

/**
 * The characters of challenges: printable ASCII without those of HTML. Some challenges are not signed, so anybody could
 * otherwise make this origin return markup.
 */
const plausibleChallenge = /^[\x20-\x7e]+$/

const markup = /[<>"'&`\\]/

/** Answers a challenge with plain text, usually the challenge itself. */
export function answerText(text: string): Answered | Rejected {
  if (text.length > longestEcho) return malformed('The challenge is too long.')
  if (!plausibleChallenge.test(text) || markup.test(text))
    return malformed('The challenge holds characters that no sender uses.')
  return { answer: { status: 200, body: text, contentType: 'text/plain; charset=utf-8' } }
}

export function answerJson(value: object): Answered {
  return { answer: { status: 200, body: JSON.stringify(value), contentType: 'application/json' } }
}

export function answerEmpty(status = 200): Answered {
  return { answer: { status, body: '' } }
}
