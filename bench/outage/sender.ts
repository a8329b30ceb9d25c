// A process that sends signed webhooks at a constant rate, and keeps one bit for each that was acknowledged.
import { createHmac } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import { Connection } from '../load/connection.ts'
import { sampleBody } from '../load/sample-body.ts'
import { post } from '../load/requests.ts'
import { percentile } from '../measure/statistics.ts'
import { Bits } from './bits.ts'
import { check } from './check.ts'
import { idOf, type Question, type Report, type SenderParameters } from './messages.ts'

const { port, connections, secret, bytes } = parametersOf<SenderParameters>()
/** Milliseconds before a connection that broke is opened again. */
const pauseAfterBreak = 100

const acknowledged = new Bits()
const counts = { sent: 0, acknowledged: 0 }
const refused: Record<string, number> = {}
let latencies: number[] = []
let rate = 0
/** Changes with the rate: when it was set, and what had been sent until then. */
let [since, before] = [0, 0]
let underWay = 0
/** Connections that have nothing to do until a request is due. */
const idle: (() => void)[] = []

const due = (): number => (rate === 0 ? counts.sent : before + ((performance.now() - since) / 1000) * rate)

async function drive(): Promise<never> {
  for (;;) {
    let connection: Connection | undefined
    try {
      connection = await Connection.open(port)
      for (;;) {
        while (counts.sent >= due()) await new Promise<void>((resolve) => idle.push(resolve))
        await send(connection, counts.sent++)
      }
    } catch {
      connection?.close()
      await wait(pauseAfterBreak)
    }
  }
}

async function send(connection: Connection, number: number): Promise<void> {
  const wantedAt = since + ((number - before) / rate) * 1000
  const body = sampleBody({ id: idOf(number), type: 'order.paid' }, bytes)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  let status = 'broken'
  underWay += 1
  try {
    status = await connection.call(post('/webhooks/provider', { 'x-signature': signature }, body))
  } finally {
    underWay -= 1
    latencies.push(performance.now() - wantedAt)
    if (status === '200') {
      counts.acknowledged += 1
      acknowledged.add(number)
    } else refused[status] = (refused[status] ?? 0) + 1
  }
}

function report(): Report {
  const sorted = latencies.toSorted((a, b) => a - b)
  latencies = []
  const at = (share: number): number | null => (sorted.length > 0 ? percentile(sorted, share) : null)
  return { ...counts, refused: { ...refused }, p50: at(0.5), p99: at(0.99) }
}

answer(async (question: Question) => {
  if (question.kind === 'report') return report()
  if (question.kind === 'check') return check(question, acknowledged, counts)
  ;[since, before, rate] = [performance.now(), counts.sent, question.rate]
  while (rate === 0 && underWay > 0) await wait(10)
  return undefined
})

setInterval(() => {
  for (let missing = Math.floor(due() - counts.sent); missing > 0 && idle.length > 0; missing -= 1)
    idle.shift()!()
}, 2)
for (let index = 0; index < connections; index += 1) void drive()
ready()
