import type { OutboundAgent } from '../network/outbound-agent.ts'
import { mailOf, webhookFormats, type Sender } from './formats.ts'
import type { SendMail } from './mailer.ts'
import type { Message } from './message.ts'
import type { Target } from './targets.ts'

/** The receiver refused the message, and would refuse it again. */
export class Refused extends Error {}

export interface DeliverParts {
  agent: OutboundAgent
  mail: SendMail | undefined
  sender: Sender
}

/** Milliseconds for one request. */
const patience = 15_000
/** Bytes of an answer that are read for the error. */
const answerLimit = 1_024
const longestAnswer = 120

/** Sends one message. @throws Refused if another attempt is of no use; other errors may pass */
export type Deliver = (target: Target, message: Message) => Promise<void>

export function createDeliver({ agent, mail, sender }: DeliverParts): Deliver {
  return async (target, message) => {
    if (target.kind !== 'email') return post(agent, target.url, webhookFormats[target.kind](message, sender))
    if (!mail) throw new Refused('SMTP_URL and MAIL_FROM are not set')
    await mail({ to: target.to, ...mailOf(message, sender) })
  }
}

async function post(agent: OutboundAgent, address: string, body: object): Promise<void> {
  const { origin, pathname, search } = new URL(address)
  const exchange = agent.exchange({
    origin,
    path: pathname + search,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'postern' },
    body: Buffer.from(JSON.stringify(body)),
    responseLimit: answerLimit,
  })
  const timer = setTimeout(
    () => exchange.cut(new Error(`no response within ${patience / 1000} seconds`)),
    patience,
  )
  const { status, error, body: answer } = await exchange.ended.finally(() => clearTimeout(timer))
  if (error !== undefined) throw error instanceof Error ? error : new Error('the request failed')
  if (status === null) throw new Error('no response')
  if (status >= 200 && status < 300) return
  const said = (answer?.toString('utf8') ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, longestAnswer)
  const text = `it returned HTTP ${status}${said === '' ? '' : `: ${said}`}`
  const mayPass = status >= 500 || status === 408 || status === 429
  throw mayPass ? new Error(text) : new Refused(text)
}
