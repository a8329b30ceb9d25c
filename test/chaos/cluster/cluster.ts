import { join } from 'node:path'
import type { QueryResultRow } from 'pg'
import { openLink, type Link } from '../../harness/link.ts'
import { eventually } from '../../receiving/harness.ts'
import type { Binaries } from '../../harness/postgres-binaries.ts'
import { Server } from './server.ts'
import type { Topology } from './topology.ts'

/** A primary and its standby, and the paths that lead to whichever is the primary. */
export class Cluster implements Topology {
  primary: Server
  standby: Server | undefined
  /** All paths of the service to the primary. */
  readonly links: Link[] = []
  readonly #folder: string
  #stream: Link | undefined
  #servers = 1
  #synchronous = false

  private constructor(folder: string, primary: Server) {
    this.#folder = folder
    this.primary = primary
  }

  static async start(binaries: Binaries, folder: string): Promise<Cluster> {
    return new Cluster(folder, await Server.create(binaries, join(folder, 'server-1')))
  }

  /** A path to the primary, which leads to the next one after a fail-over. */
  async openLink(): Promise<Link> {
    const link = await openLink(this.primary.serviceUrl)
    this.links.push(link)
    return link
  }

  query<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.primary.query<Row>(text, values)
  }

  /** Builds the standby where there is none, and has commits wait for it, or not. */
  async prepare({ synchronous }: { synchronous: boolean }): Promise<void> {
    await this.#build()
    if (synchronous !== this.#synchronous) {
      await this.primary.set('synchronous_standby_names', synchronous ? '*' : '')
      this.#synchronous = synchronous
    }
    await this.#caughtUp()
  }

  /** Ends the stream to the standby. Everything that was committed when this is called is there. */
  async cutStream(): Promise<void> {
    await this.#caughtUp()
    this.#stream?.cut()
  }

  /** The standby becomes the primary. Links lead there when `lead` is called. Commits wait for no other standby. */
  async promote(): Promise<Server> {
    const { standby: next, primary: former } = this
    if (!next) throw new Error('there is no standby')
    await next.promote()
    // It was copied with the settings of the former primary.
    await next.set('synchronous_standby_names', '')
    await next.set('default_transaction_read_only')
    this.#synchronous = false
    this.primary = next
    this.standby = undefined
    this.#stream?.close()
    this.#stream = undefined
    return former
  }

  /** New connections of all links go to the primary. */
  lead(): void {
    for (const link of this.links) link.lead(this.primary.serviceUrl)
  }

  /** The standby is of no use any more, for example after its primary was restored. */
  async dropStandby(): Promise<void> {
    if (this.#synchronous && this.primary.running) await this.primary.set('synchronous_standby_names', '')
    this.#synchronous = false
    await this.standby?.discard()
    this.standby = undefined
    this.#stream?.close()
    this.#stream = undefined
  }

  /** A folder for the data of a further server, or of a backup. */
  newFolder(): string {
    this.#servers += 1
    return join(this.#folder, `server-${this.#servers}`)
  }

  async end(): Promise<void> {
    for (const link of this.links) link.close()
    this.#stream?.close()
    await this.standby?.kill()
    await this.primary.kill()
  }

  /** For the end of this program: nothing is waited for. */
  killNow(): void {
    this.standby?.killNow()
    this.primary.killNow()
  }

  async #build(): Promise<void> {
    if (this.standby) return
    const standby = await this.primary.copyTo(this.newFolder())
    this.#stream = await openLink(this.primary.url)
    standby.follow(this.#stream.url)
    this.standby = standby
    await standby.start()
  }

  /** Waits until the standby has what the primary has committed until now. */
  async #caughtUp(): Promise<void> {
    const [now] = await this.primary.query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn')
    await eventually(
      async () => {
        const [row] = await this.standby!.query<{ there: boolean }>(
          'select coalesce(pg_last_wal_receive_lsn() >= $1::pg_lsn, false) as there',
          [now!.lsn],
        )
        return row!.there
      },
      'the standby has caught up',
      60_000,
    )
  }
}
