import type { Clock } from '../runtime/clock.ts'
import { HmacKey } from '../crypto/hmac.ts'
import type { OutboundAgent } from '../network/outbound-agent.ts'
import { readRetryAfter } from '../network/retry.ts'
import type { Handler, ReceivedEvent } from './config.ts'

export interface ForwardRequest {
  url: string
  headers: Record<string, string>
  body: Uint8Array
  signal: AbortSignal
}

export interface ForwardAnswer {
  status: number
  /** Milliseconds that the receiver asks to wait for. */
  retryAfter: number | undefined
  /** The beginning of an answer that is no 2xx. */
  text: string
}

/** Posts a request without following redirects. */
export type Send = (request: ForwardRequest) => Promise<ForwardAnswer>

/** The receiver did not take an event. */
class NotTaken extends Error {
  readonly retryAfter: number | undefined

  constructor(url: string, { status, retryAfter, text }: ForwardAnswer) {
    super(`${new URL(url).origin} answered ${status}${text === '' ? '' : `: ${text}`}`)
    this.name = 'NotTaken'
    this.retryAfter = retryAfter
  }
}

/** Milliseconds that the receiver wants to be left alone, when the error comes from one that said so. */
export function askedToWait(error: unknown): number | undefined {
  return error instanceof NotTaken ? error.retryAfter : undefined
}

/**
 * A handler that posts the bytes that came to another service, signed by Standard Webhooks with each of the keys; anything
 * but 2xx is a failure.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function forwardTo(url: string, keys: readonly Uint8Array[], send: Send, clock: Clock): Handler {
  const macs = keys.map((key) => new HmacKey('sha256', key))
  return async (event, { signal }) => {
    // The same at every attempt: by it the receiver recognises a repetition. A dot would end it in what is signed.
    const id = encodeURIComponent(event.id).replaceAll('.', '%2E')
    // The time of this attempt: the receiver takes it for a replay when it is old.
    const timestamp = String(Math.floor(clock.now() / 1000))
    const signed = `${id}.${timestamp}.`
    const signatures = macs.map((mac) => `v1,${mac.digest(signed, event.raw).toString('base64')}`)
    const answer = await send({
      url,
      headers: {
        'content-type': 'application/octet-stream',
        ...sendersHeaders(event),
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatures.join(' '),
        'webhook-source': event.source,
        'webhook-type': encodeURIComponent(event.type),
      },
      body: event.raw,
      signal,
    })
    if (answer.status < 200 || answer.status > 299) throw new NotTaken(url, answer)
  }
}

/** What proxies before Postern said about the sender: behind it a receiver would believe that of Postern. */
const ofProxies = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|proxy-.*)$/

function sendersHeaders({ headers }: ReceivedEvent): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofProxies.test(name)))
}

/** Bytes of an answer that are read, and milliseconds that reading them may take; only its status matters. */
const answerLimit = 64 * 1024
const answerTime = 5_000
/** Characters of a refusal that are shown with the event. */
const textLimit = 500

/**
 * Sends over the network until `signal` is aborted. Redirects are answers like any other: their status is no 2xx. The
 * agent may allow private addresses, since the operator wrote them into the configuration.
 */
export function sendOver(agent: OutboundAgent, clock: Clock): Send {
  return async ({ url, headers, body, signal }) => {
    const { origin, pathname, search } = new URL(url)
    const path = pathname + search
    const answer = await agent.request({ origin, path, method: 'POST', headers, body, signal })
    const { statusCode: status } = answer
    const retryAfter = readRetryAfter([answer.headers['retry-after']].flat()[0], clock.now())
    if (status > 299) return { status, retryAfter, text: await readStart(answer.body, clock) }
    // Read so that the connection can be used again. Its end is not waited for: a body that trickles changes nothing.
    answer.body.dump({ limit: answerLimit, signal: AbortSignal.timeout(answerTime) }).catch(() => undefined)
    return { status, retryAfter, text: '' }
  }
}

/** What a refusal says, as far as it comes within a moment. */
async function readStart(
  body: AsyncIterable<Uint8Array> & { destroy(): void },
  clock: Clock,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const cancel = clock.after(answerTime, () => body.destroy())
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= textLimit * 4) break
    }
  } catch {
    // Cut off: the status and what there is of the text say enough.
  } finally {
    cancel()
  }
  return Buffer.concat(chunks).toString('utf8').trim().slice(0, textLimit)
}
