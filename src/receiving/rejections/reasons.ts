import type { Held } from '../endpoint/admission.ts'
import type { Rejected, SignatureFault } from '../schemes/scheme.ts'

/** Why a webhook was refused: a label of the metric. */
export type Reason =
  | SignatureFault
  | Held
  | 'malformed'
  | 'media-type'
  | 'too-large'
  | 'too-slow'
  | 'overloaded'
  | 'unavailable'

interface Explanation {
  readonly meaning: string
  readonly advice: string
}

export const reasons: Readonly<Record<Reason, Explanation>> = {
  'signature-missing': {
    meaning: 'The header with the signature, or with a part of the signed text, is missing.',
    advice:
      'If you know the sender: configure its secret, and check that the source uses the preset of this sender. Otherwise somebody is probing the address, and you need not do anything.',
  },
  'signature-wrong': {
    meaning: 'The signature does not match this body under any of the source’s secrets.',
    advice:
      'Compare the secret with that of the sender. If they are equal, the body or the address changes on the way: a proxy may rewrite JSON, or BASE_URL may not be the address that the sender calls.',
  },
  'no-valid-secret': {
    meaning: 'The source has no secret that verifies at this time.',
    advice: 'Check `from` and `until` of its secrets.',
  },
  'timestamp-too-old': {
    meaning: 'The signature is valid, but its time is too old.',
    advice:
      'Compare the clocks (`postern doctor`). A sender that retries with its first signature needs a greater `tolerance`; otherwise it may be a replay.',
  },
  'timestamp-in-future': {
    meaning: 'The signature is valid, but its time is in the future.',
    advice: 'Compare the clocks (`postern doctor`): one of the two is wrong.',
  },
  malformed: {
    meaning: 'The sender is verified, but the request is not an event: its id or type is missing or invalid.',
    advice: 'See the detail; configure where the source finds id and type (`hmac({ id, type })`).',
  },
  'media-type': {
    meaning:
      'The source does not accept the media type, or the body is compressed or has several parts. The signature of the latter cannot be checked.',
    advice:
      'Configure the sender to send uncompressed JSON, or add the type to `mediaTypes`. Postern does not read multipart bodies, such as mail with attachments.',
  },
  'too-large': {
    meaning: 'The body is larger than the limit; its signature was not checked.',
    advice: 'Raise WEBHOOK_BODY_LIMIT to accept bodies of this size.',
  },
  'too-slow': {
    meaning: 'The body arrived too slowly; its signature was not checked.',
    advice:
      'None if it is rare. Otherwise check the network of the sender and the proxy in front of Postern.',
  },
  overloaded: {
    meaning: 'More webhooks arrived than could be stored; the sender was asked to retry.',
    advice: 'None if it was a burst. Otherwise check the disk, the database and the number of processes.',
  },
  limited: {
    meaning: 'More webhooks arrived than the rate limit of the source, or of one address, allows.',
    advice: 'Raise `rateLimit` of the source to accept more.',
  },
  backlogged: {
    meaning: 'Earlier events of the source have waited too long for their handlers.',
    advice: 'Check `postern_handler_lag_seconds` and the handlers, or raise INBOX_MAX_AGE.',
  },
  unavailable: {
    meaning: 'The database did not answer; the sender was asked to retry.',
    advice: 'Check the log and `GET /readyz`.',
  },
}

export function reasonOf({ rejected, fault }: Rejected): Reason {
  return rejected === 'malformed' ? 'malformed' : (fault ?? 'signature-wrong')
}
