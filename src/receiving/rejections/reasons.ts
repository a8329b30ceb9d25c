import type { Rejected } from '../schemes/scheme.ts'

interface Explanation {
  readonly meaning: string
  readonly advice: string
}

/** The reasons for which webhooks are rejected, by the label of the metric. */
export const reasons = {
  'signature-missing': {
    meaning: 'The signature header, or another signed header, is missing.',
    advice:
      'If you know the sender, configure its secret and check that the source uses the right preset. Otherwise someone is probing the URL, and you can ignore it.',
  },
  'signature-wrong': {
    meaning: 'The signature does not match the body with any of the source’s secrets.',
    advice:
      'Compare the secret with the sender’s. If they match, the body or the URL changes in transit: a proxy may rewrite JSON, or BASE_URL may differ from the URL that the sender uses.',
  },
  'no-valid-secret': {
    meaning: 'The source has no valid secret at this time.',
    advice: 'Check `from` and `until` of its secrets.',
  },
  'timestamp-too-old': {
    meaning: 'The signature is valid, but its time is too old.',
    advice:
      'Compare the clocks (`postern doctor`). A sender that retries with its first signature needs a longer `tolerance`. Otherwise it may be a replay attack.',
  },
  'timestamp-in-future': {
    meaning: 'The signature is valid, but its time is in the future.',
    advice: 'Compare the clocks (`postern doctor`): one of the two is wrong.',
  },
  'address-not-allowed': {
    meaning: 'The request came from an address outside the source’s `addresses`.',
    advice: 'If it is the sender, add its ranges. Behind a proxy, check TRUST_PROXY.',
  },
  'keys-unavailable': {
    meaning:
      'The sender’s public keys could not be fetched, so the signature was not checked. The sender was asked to retry.',
    advice: 'The detail names the failure. Check that Postern can reach the host that publishes the keys.',
  },
  malformed: {
    meaning: 'The signature is valid, but the request is not an event: its ID or type is missing or invalid.',
    advice: 'Read the detail, and configure where the source finds the ID and type (`hmac({ id, type })`).',
  },
  'media-type': {
    meaning:
      'The source does not accept the media type, or the body is multipart or compressed in an unknown way, so the signature cannot be checked.',
    advice:
      'Configure the sender to send JSON, uncompressed or with gzip, deflate or br, or add the type to `mediaTypes`. Postern does not read multipart bodies, such as mail with attachments.',
  },
  'too-large': {
    meaning: 'The body is larger than the limit; its signature was not checked.',
    advice: 'Raise WEBHOOK_BODY_LIMIT to accept bodies of this size.',
  },
  'too-slow': {
    meaning: 'The body arrived too slowly; its signature was not checked.',
    advice:
      'Ignore it if it is rare. Otherwise check the sender’s network and the proxy in front of Postern.',
  },
  overloaded: {
    meaning: 'More webhooks arrived than could be stored. The sender was asked to retry.',
    advice:
      'Ignore it if it was a burst. Otherwise check the disk, the database and the number of processes.',
  },
  limited: {
    meaning: 'The sender exceeded the rate limit of the source or of one address.',
    advice: 'Raise the source’s `rateLimit` to accept more.',
  },
  backlogged: {
    meaning: 'Earlier events of the source have been waiting too long for their handlers.',
    advice: 'Check `postern_handler_lag_seconds` and the handlers, or raise INBOX_MAX_AGE.',
  },
  unavailable: {
    meaning: 'The database was unavailable. The sender was asked to retry.',
    advice: 'Check the log and `GET /readyz`.',
  },
} satisfies Record<string, Explanation>

export type Reason = keyof typeof reasons

export function reasonOf({ rejected, fault }: Rejected): Reason {
  return rejected === 'malformed' ? 'malformed' : (fault ?? 'signature-wrong')
}
