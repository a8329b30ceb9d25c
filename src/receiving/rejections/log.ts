import type { IncomingHttpHeaders } from 'node:http'
import type { Insertable } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import type { RawCall } from '../../http/raw/call.ts'
import type { Tx } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Reason } from './reasons.ts'
import { type Activity, type Companion } from '../activity.ts'
import { redactText } from '../../events/redact-payload.ts'
import { isSensitiveHeader } from '../../telemetry/printable.ts'
import { isAboutConnection } from '../endpoint/evaluate.ts'

/** Stored refusals of one source and reason at most, so that a flood of one kind does not push out the others. */
export const longestLog = 10
/** Of those that one write may bring. The rest is counted and not stored. */
const mostPerWrite = 5
const mostWaiting = 50
/** Bytes of a body, and of the headers as JSON, that are stored. */
const storedBodyLimit = 4 * 1024

type NoteRejected = (
  reason: Reason,
  detail: string,
  call: Pick<RawCall, 'request' | 'address'>,
  body?: Uint8Array,
) => void

type NewRow = Insertable<Tables['rejected_webhooks']>

interface Waiting extends Omit<NewRow, 'headers' | 'body'> {
  readonly body: Buffer | null
  readonly headers: IncomingHttpHeaders
  readonly signatureHeader: string | undefined
}

/**
 * Counts refused requests and stores samples of the latest, for troubleshooting. Anyone can cause refusals, so their cost is
 * bounded: a few samples in memory, a small part of the write of `Activity`, and a few rows for each source and reason.
 */
export class RejectedLog implements Companion {
  readonly #activity: Activity
  readonly #clock: Clock
  #waiting: Waiting[] = []

  constructor(activity: Activity, clock: Clock) {
    this.#activity = activity
    this.#clock = clock
    activity.join(this)
  }

  of(source: string, signatureHeader?: string): NoteRejected {
    return (reason, detail, call, body) => {
      const at = this.#clock.now()
      this.#activity.of('rejected', source, reason).add()
      if (this.#waiting.length >= mostWaiting) return
      const ofKind = this.#waiting.filter((one) => one.source === source && one.reason === reason)
      if (ofKind.length >= mostPerWrite) return
      const { headers } = call.request
      const told = Number(headers['content-length'] ?? Number.NaN)
      this.#waiting.push({
        source,
        reason,
        detail,
        at,
        address: call.address,
        headers,
        signatureHeader,
        size: body?.byteLength ?? (told <= 2 ** 31 - 1 ? told : null),
        // A copy of its own: the rest of the body is let go.
        body: body ? Buffer.from(body.subarray(0, storedBodyLimit)) : null,
      })
    }
  }

  get pending(): boolean {
    return this.#waiting.length > 0
  }

  /** If the transaction fails, the samples are lost. */
  async write(tx: Tx): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    await insertSamples(tx, waiting)
  }
}

async function insertSamples(tx: Tx, waiting: readonly Waiting[]): Promise<void> {
  await tx.insertInto('rejected_webhooks').values(waiting.map(rowOf)).execute()
  const kinds = new Map(waiting.map(({ source, reason }) => [`${source} ${reason}`, { source, reason }]))
  for (const { source, reason } of kinds.values()) {
    await tx
      .deleteFrom('rejected_webhooks')
      .where('source', '=', source)
      .where('reason', '=', reason)
      .where('id', '<=', (eb) =>
        eb
          .selectFrom('rejected_webhooks as newer')
          .select('newer.id')
          .where('newer.source', '=', source)
          .where('newer.reason', '=', reason)
          .orderBy('newer.id', 'desc')
          .limit(1)
          .offset(longestLog),
      )
      .execute()
  }
}

function rowOf({ headers, signatureHeader, body, ...row }: Waiting): NewRow {
  return {
    ...row,
    headers: redactHeaders(headers, signatureHeader),
    body: body && redactBody(body, storedBodyLimit),
  }
}

/** Names of fields with credentials, signatures, or URLs that need no further authentication. */
const credential =
  /token|secret|signature|passw|client_?state|(?:api|access|private|order|functions|subscription)_?-?key|authorization|credential|response_?url/i

/** Whether a field of this name holds a credential or signature. */
export const isCredentialName = (name: string): boolean => credential.test(name)

const removed = '[removed]'

/** Returns the first bytes of a body, without the values of fields that are credentials or signatures by their names. */
function redactBody(body: Uint8Array, most: number): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, most))
  // latin1 has one character per byte, so decoding and encoding it preserves all bytes.
  const text = bytes.toString('latin1')
  return Buffer.from(redactText(text, isCredentialName, removed), 'latin1').subarray(0, most)
}

/** Returns the headers as JSON. The values of credentials and signatures are replaced by their lengths. */
function redactHeaders(headers: IncomingHttpHeaders, signatureHeader?: string): string {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (isAboutConnection(name) || value === undefined) continue
    const text = typeof value === 'string' ? value : value.join(', ')
    shown[name] =
      name === signatureHeader || isSensitiveHeader(name) ? `[removed: ${text.length} characters]` : text
  }
  return JSON.stringify(shown)
}
