import { Webhook } from 'standardwebhooks'
import { startReceiver, type ReceivedCall, type Receiver } from '../../harness/receiver.ts'
import { textOf, tenants, type Content, type Tenant } from './item.ts'
import type { Ledger } from './ledger.ts'

interface Sink {
  readonly name: string
  readonly tenant: Tenant
  readonly receiver: Receiver
}

export interface Sinks extends AsyncDisposable {
  readonly all: readonly Sink[]
}

/** Registers a subscriber and answers with its signing secret. */
export type Subscribe = (subscriber: { url: string; owner: string; ordered: boolean }) => Promise<string>

/** Two subscribers of each tenant, one of them ordered, which check whatever comes. */
export async function startSinks(ledger: Ledger, subscribe: Subscribe): Promise<Sinks> {
  const all: Sink[] = []
  for (const tenant of tenants) {
    for (const ordered of [false, true]) {
      const name = `${tenant}${ordered ? ' (ordered)' : ''}`
      const receiver: Receiver = await startReceiver((response, call) => {
        receiver.calls.length = 0
        const { id, wrong } = read(call, tenant, verifier)
        if (wrong === undefined) ledger.arrived(name, tenant, id)
        else ledger.foreign.push(`${name} got ${wrong}: ${call.body.toString().slice(0, 300)}`)
        response.writeHead(204).end()
      })
      const { url } = receiver
      // Nothing is sent before the answer to this.
      const verifier = new Webhook(await subscribe({ url, owner: tenant, ordered }))
      ledger.addSubscriber(tenant)
      all.push({ name, tenant, receiver })
    }
  }
  return {
    all,
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map(({ receiver }) => receiver.close()))
    },
  }
}

/** The event's id, and what is wrong with the call, if anything is. */
function read(
  { headers, body }: ReceivedCall,
  tenant: Tenant,
  verifier: Webhook,
): { id: string; wrong?: string } {
  const id = String(headers['webhook-id'])
  try {
    verifier.verify(body, headers as Record<string, string>)
  } catch (error) {
    return { id, wrong: `a wrong signature (${(error as Error).message})` }
  }
  const event = JSON.parse(body.toString()) as { id: string; data: Content }
  if (event.id !== id) return { id, wrong: `the body of ${event.id} as ${id}` }
  if (event.data.tenant !== tenant) return { id, wrong: `an event of ${event.data.tenant}` }
  if (event.data.text !== textOf(id)) return { id, wrong: `${id} with the text of another` }
  return { id }
}
