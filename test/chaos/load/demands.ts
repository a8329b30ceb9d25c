import { now } from '../now.ts'

/** What a client asks for: a webhook or an event is to be acknowledged, a page of events is to be read. */
export type RequestKind = 'webhook' | 'event' | 'page'

interface Demand {
  readonly name: string
  readonly kinds: readonly RequestKind[]
  readonly from: number
  to: number
}

/** Times in which no request of some kinds may fail, whatever happens. */
export class Demands {
  readonly #demands: Demand[] = []
  readonly #findings: string[]
  #failedAt = -Infinity

  /** @param findings gets the requests that fail all the same */
  constructor(findings: string[]) {
    this.#findings = findings
  }

  /** Milliseconds since a request failed last. */
  get calm(): number {
    return now() - this.#failedAt
  }

  /** Requests that begin from now on must not fail, until the function that this returns is called. */
  begin(name: string, kinds: readonly RequestKind[]): () => void {
    const demand: Demand = { name, kinds, from: now(), to: Infinity }
    this.#demands.push(demand)
    return () => {
      demand.to = now()
    }
  }

  /** A request that began at a time failed. */
  failed(kind: RequestKind, beganAt: number, why: string): void {
    this.#failedAt = now()
    const broken = this.#demands.find(
      ({ kinds, from, to }) => kinds.includes(kind) && beganAt >= from && beganAt <= to,
    )
    if (!broken) return
    const ms = Math.round(now() - beganAt)
    this.#findings.push(
      `${broken.name}: a request failed (${kind}, ${why} after ${ms} ms, begun ${Math.round(beganAt - broken.from)} ms in)`,
    )
  }
}

/** Why there was no answer, such as ECONNRESET. */
export function whyOf(error: unknown): string {
  const { message, cause } = error as Error
  const { code, message: because } = (cause ?? {}) as { code?: string; message?: string }
  return code ?? because ?? message
}
