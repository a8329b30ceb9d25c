import type { Pool } from 'pg'
import { Connector } from './connector.ts'
import { openPool } from './pool.ts'
import { PostgresReplica, type ReplicaParts } from './replica.ts'

/** Connections on which lists are read, at most. One more measures how far the standby is behind. */
const mostConnections = 7

export interface ReplicaOptions {
  onError: (error: Error) => void
  /** Milliseconds that a statement may take. */
  answerWithin: number
  /** Whether the address may lead to a pooler, as that of the primary does. */
  pooled: boolean
  onChange?: ReplicaParts['onChange'] | undefined
}

/** Opens the pools of a standby. Nothing is connected yet: it may be away now and come back later. */
export function openReplica(url: string, primary: Pool, options: ReplicaOptions): PostgresReplica {
  const { onError, answerWithin, pooled, onChange = () => undefined } = options
  const connector = new Connector(url, { ofSeveral: 'prefer-standby', pooled })
  const settings = 'set default_transaction_read_only = on'
  const open = (max: number) => openPool(connector, { onError, answerWithin, cancelled: true, max, settings })
  return new PostgresReplica({ primary, standby: open(mostConnections), looks: open(1), pooled, onChange })
}
