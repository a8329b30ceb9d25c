import type { QueryResultRow } from 'pg'
import type { Link } from '../../harness/link.ts'

/** A database as the service reaches it, whatever stands behind it. */
export interface Topology {
  /** The paths of the service. */
  readonly links: readonly Link[]
  /** A further path, for a process of the service. */
  openLink(): Promise<Link>
  /** Which server it is that answers, where that is known: after a fail-over, another one. */
  readonly primary: object
  /** One statement on a session of its own, past the links, by an account that may do anything. */
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  end(): Promise<void>
  /** For the end of this program: nothing is waited for. */
  killNow(): void
}
