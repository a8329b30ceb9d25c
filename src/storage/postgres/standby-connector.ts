import { endClient } from './driver/session-client.ts'
import { Connector } from './pool/connector.ts'

/**
 * Makes the connections to the address of a standby: of several servers, to a standby if there is one.
 * @param pooled whether the address may lead to a pooler that changes sessions: see `Connector`
 * @throws Error if the address, or a file that it names, cannot be read
 */
export function standbyConnector(replicaUrl: string, pooled: boolean): Connector {
  return new Connector(replicaUrl, { ofSeveral: 'prefer-standby', pooled })
}

/** Runs one statement there, on a connection of its own, within ten seconds. */
export async function askStandby<Row extends object>(
  replicaUrl: string,
  { pooled }: { pooled: boolean },
  statement: string,
): Promise<Row[]> {
  const client = standbyConnector(replicaUrl, pooled).newClient({ answerWithin: 10_000, brief: true })
  // The statement reports errors. Without a listener they would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(statement)).rows
  } finally {
    await endClient(client)
  }
}
