import { bodyDigest, form, identify, json, kindOf, readForm, readObject } from './body.ts'
import { preset } from './preset.ts'
import { answerEmpty, answerText, type Reply, type TimedOptions, type VerificationResult } from './scheme.ts'

/** Slack shows the response's body to users, and treats unknown bodies as failures. */
const nothing: Reply = { status: 200, body: '' }

/**
 * Slack: `X-Slack-Signature: v0=<hex>`, HMAC-SHA256 over `v0:<X-Slack-Request-Timestamp>:<body>` with the app's signing
 * secret. There are three kinds of requests. Events API: JSON; id `event_id`, type of the inner event, such as `app_mention`;
 * `url_verification` is answered. Slash commands: a form; type `slash_command.deploy`. Interactions: a form with JSON in
 * `payload`; type `block_actions`, `view_submission`. The id of a form is the digest of the signed time and the body, because some
 * interactions have no `trigger_id`. The signed bytes tell JSON and forms apart: `Content-Type` is not signed. Forms are answered with an empty 200.
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 * https://docs.slack.dev/apis/events-api/
 * https://docs.slack.dev/interactivity/implementing-slash-commands
 */
export const slack = preset<TimedOptions>('slack', {
  mediaTypes: [json, form],
  typesHaveActions: true,
  signed: {
    header: 'x-slack-signature',
    prefix: 'v0=',
    timestampHeader: 'x-slack-request-timestamp',
    template: 'v0:{timestamp}:{body}',
  },
  read: ({ rawBody }, { signedAt }) =>
    kindOf(rawBody) === 'form'
      ? readInteraction(rawBody, bodyDigest(Buffer.concat([Buffer.from(`${signedAt}:`), rawBody])))
      : readEvent(rawBody),
})

function readEvent(rawBody: Buffer): VerificationResult {
  const body = readObject(rawBody)
  if ('rejected' in body) return body
  const { type, challenge, event_id: id, event } = body.object
  if (type === 'url_verification' && typeof challenge === 'string') return answerText(challenge)
  const inner = type === 'event_callback' ? (event as { type?: unknown } | undefined)?.type : type
  return identify(id ?? bodyDigest(rawBody), inner)
}

function readInteraction(rawBody: Buffer, id: string): VerificationResult {
  const sent = readForm(rawBody)
  if ('rejected' in sent) return sent
  const { field } = sent
  if (field('ssl_check') === '1') return answerEmpty()
  const command = field('command')
  if (command !== undefined) return identify(id, `slash_command.${command.replace(/^\//, '')}`, nothing)
  const body = readObject(Buffer.from(field('payload') ?? ''))
  return 'rejected' in body ? body : identify(id, body.object['type'], nothing)
}
