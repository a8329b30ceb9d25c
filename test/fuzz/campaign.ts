import { createHmac } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Chance } from '../harness/chance.ts'
import { converse, makeConversation, wrongAnswer, type Conversation } from './conversation.ts'
import { sources } from './sources.ts'
import type { Target } from './target.ts'
import type { Measured } from './target-service.ts'

export interface CampaignOptions {
  seed: number
  /** Calls at least. */
  inputs: number
  /** The first conversation's number; with `inputs: 1` that one alone is had again. */
  first?: number
  onProgress?: (inputs: number, measured: Measured) => void
}

export interface Campaign {
  inputs: number
  conversations: number
  /** Answers by status. */
  statuses: Record<string, number>
  probes: number
  seconds: number
  before: Measured
  after: Measured
}

/** What was sent when something that always holds did not. */
export class Found extends Error {
  constructor(what: string, seed: number, number: number, { pieces, manner }: Conversation) {
    const bytes = pieces.map((piece) => piece.toString('base64')).join('\n')
    super(
      `${what}\n\nseed ${seed}, conversation ${number}, ${manner}: npm run fuzz -- --seed ${seed} --only ${number}\n` +
        `The bytes, a line of base64 for each write:\n${bytes}`,
    )
    this.name = 'Found'
  }
}

const together = 64
/** Inputs between two probes. */
const probeEvery = 500
/** Inputs between two measurements. */
const measureEvery = 25_000
/** Milliseconds until a connection must have ended: the service's time-outs, on a machine that is busy. */
const longest = 15_000
/** What may come to what was measured after the warm-up. */
const growth = { resident: 128 * 1024 * 1024, held: 24 * 1024 * 1024, files: 16, handles: 16 }

/** Sends what the seed decides, and fails at the first thing that may not be. @throws Found */
export async function fuzz(target: Target, options: CampaignOptions): Promise<Campaign> {
  const { seed, inputs, first = 0, onProgress } = options
  const started = performance.now()
  const warmUp = Math.min(50_000, Math.ceil(inputs / 5))
  const statuses: Record<string, number> = {}
  let [sent, next, probes, probeAt, nudges] = [0, first, 0, 0, 0]
  let failed: Error | undefined

  const one = async (): Promise<void> => {
    const number = next++
    const conversation = makeConversation(
      new Chance(Math.imul(seed, 0x9e3779b1) + number),
      `${seed}-${number}`,
    )
    sent += conversation.inputs
    const { text, ended, nudged } = await converse(target.port, conversation, longest)
    const fault =
      target.fault() ??
      wrongAnswer(text) ??
      (ended ? undefined : `the connection was left open for ${longest} ms. It had answered:\n${text}`)
    if (fault) throw new Found(fault, seed, number, conversation)
    // On a busy machine answers are late. What the service does not hear, it does not hear the second time either.
    if (nudged && (await converse(target.port, conversation, longest)).nudged) nudges += 1
    // That a broken body ends so is rare; requests that the service does not hear are not.
    if (nudges > 2 + sent / 10_000)
      throw new Found(
        `answers are missing: ${nudges} connections had to be asked again`,
        seed,
        number,
        conversation,
      )
    for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g))
      statuses[status!] = (statuses[status!] ?? 0) + 1
    if (sent < probeAt) return
    probeAt = sent + probeEvery
    probes += 1
    if (!(await probe(target.port, `probe-${seed}-${number}`)))
      throw new Found('a good webhook was not accepted any more', seed, number, conversation)
  }
  const lane = async (until: number): Promise<void> => {
    while (sent < until && !failed) await one()
  }
  const run = async (until: number, before?: Measured): Promise<Measured> => {
    await Promise.all(
      Array.from({ length: Math.min(together, until) }, () =>
        lane(until).catch((error: Error) => (failed ??= error)),
      ),
    )
    if (failed) throw failed
    return measureAtRest(target, before)
  }

  const before = await run(warmUp)
  let after = before
  for (let until = warmUp; until < inputs && inputs > 1;) {
    until = Math.min(inputs, until + measureEvery)
    after = await run(until, before)
    onProgress?.(sent, after)
    for (const name of ['resident', 'held', 'files', 'handles'] as const) {
      if (after[name] - before[name] > growth[name])
        throw new Error(`${name} grew from ${before[name]} to ${after[name]} (seed ${seed}, ${sent} inputs)`)
    }
  }
  const seconds = (performance.now() - started) / 1000
  return { inputs: sent, conversations: next - first, statuses, probes, seconds, before, after }
}

/**
 * Connections that the server has yet to notice the end of are no leak, nor are events that wait for their handlers: both
 * are waited for.
 */
async function measureAtRest(target: Target, before: Measured | undefined): Promise<Measured> {
  for (let tries = 0; ; tries += 1) {
    await wait(200)
    const measured = await target.measure()
    const isFlat =
      before &&
      (['held', 'files', 'handles'] as const).every((name) => measured[name] - before[name] <= growth[name])
    if (isFlat || tries >= (before ? 50 : 15)) return measured
  }
}

/** A rightly signed webhook over a connection of its own. Three tries, since a busy machine may miss the short time-outs. */
async function probe(port: number, id: string): Promise<boolean> {
  const body = JSON.stringify({ id, type: 'fuzz.probe' })
  const signature = createHmac('sha256', sources[0]!.signing).update(body).digest('hex')
  const request =
    `POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n` +
    `x-signature: ${signature}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const conversation: Conversation = { pieces: [Buffer.from(request)], inputs: 1, manner: 'patient' }
  for (let tries = 0; tries < 3; tries += 1)
    if ((await converse(port, conversation, longest)).text.startsWith('HTTP/1.1 200 ')) return true
  return false
}
