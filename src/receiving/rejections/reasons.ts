import type { Held } from '../admission.ts'
import type { Rejected, SignatureFault } from '../schemes/scheme.ts'

/** Why a webhook was refused: the label of the metric, with what it means and what to do, for people. */
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
    meaning: 'The header with the signature, or with a part of what is signed, is not there.',
    advice:
      'If the sender is yours: give it the secret, and look whether the source has the preset of this sender. Else somebody is trying the address, and nothing is to be done.',
  },
  'signature-wrong': {
    meaning: 'The signature does not belong to this body and any of the secrets of the source.',
    advice:
      'Compare the secret with the one that the sender shows. If it is right, something between the sender and Postern changes the body or the address: a proxy that re-writes JSON, a BASE_URL that is not the address that the sender calls.',
  },
  'no-valid-secret': {
    meaning: 'The source has no secret that verifies at this time.',
    advice: 'Look at `from` and `until` of its secrets.',
  },
  'timestamp-too-old': {
    meaning: 'It is signed rightly, for a time that is too long ago.',
    advice:
      'Compare the clocks (`postern doctor`). A sender that repeats with its first signature needs a greater `tolerance`; otherwise it may be a replay.',
  },
  'timestamp-in-future': {
    meaning: 'It is signed rightly, for a time that is still to come.',
    advice: 'Compare the clocks (`postern doctor`): one of the two is wrong.',
  },
  malformed: {
    meaning: 'It comes from the sender and is no event: its id or type is not where it is looked for.',
    advice: 'See the detail; tell the source where to find id and type (`hmac({ id, type })`).',
  },
  'media-type': {
    meaning: 'It comes from the sender, with a media type that the source does not take.',
    advice: 'Have the sender send JSON, or name its type in `mediaTypes`.',
  },
  'too-large': {
    meaning: 'The body is larger than the limit; its signature was not looked at.',
    advice: 'Raise WEBHOOK_BODY_LIMIT if bodies of this size are to be taken.',
  },
  'too-slow': {
    meaning: 'The body came too slowly; its signature was not looked at.',
    advice: 'Nothing, if it is rare. Else look at the network of the sender, or at the proxy in front.',
  },
  overloaded: {
    meaning: 'More arrived than could be stored; the sender was asked to come again.',
    advice: 'Nothing, if it was a burst. Else look at the disk, the database and the number of processes.',
  },
  limited: {
    meaning: 'More arrived than the rate limit of the source, or of one address, allows.',
    advice: 'Raise `rateLimit` of the source if it is to be more.',
  },
  backlogged: {
    meaning: 'Earlier events of the source have waited too long for their handlers.',
    advice: 'Look at `postern_handler_lag_seconds` and at the handlers, or raise INBOX_MAX_AGE.',
  },
  unavailable: {
    meaning: 'The database did not answer; the sender was asked to come again.',
    advice: 'Look at the log and at `GET /readyz`.',
  },
}

export function reasonOf({ rejected, fault }: Rejected): Reason {
  return rejected === 'malformed' ? 'malformed' : (fault ?? 'signature-wrong')
}
