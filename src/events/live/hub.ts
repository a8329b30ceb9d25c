import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { EventLog } from '../log.ts'
import { ChangeWatch } from './changes.ts'
import { EventFeed, type News } from './feed.ts'
import { changedMessage, eventMessage, gapMessage, heartbeat, helloMessage } from './messages.ts'
import { topics, type Topic } from './topics.ts'
import type { Viewer } from './viewer.ts'

/** Milliseconds between two looks at the database, while there are viewers. */
const lookEvery = 1_000
/** Milliseconds between two heartbeats. */
const beatEvery = 15_000
/** Milliseconds after which a browser connects again. */
const retryAfter = 3_000
/** Connections of one process, and of one person to it. */
export const mostViewers = { process: 500, person: 20 }

export interface LiveHubParts {
  database: Database
  log: EventLog
  clock: Clock
  logger: Log
}

/**
 * Tells the viewers of this process what changes. One query serves all of them. Without viewers, no query is made.
 * Each process looks for itself, so viewers see what other processes do.
 */
export class LiveHub {
  readonly #parts: LiveHubParts
  readonly #feed: EventFeed
  readonly #watch: ChangeWatch
  readonly #viewers = new Set<Viewer>()
  #begun: Promise<void> | undefined
  #cancelLook: (() => void) | undefined
  #cancelBeat: (() => void) | undefined
  #closed = false

  constructor(parts: LiveHubParts) {
    this.#parts = parts
    this.#feed = new EventFeed(parts.log)
    this.#watch = new ChangeWatch(parts.database)
    parts.database.onSetBack(() => this.#end())
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /**
   * Adds a viewer until its stream closes.
   * @param lastEvent the newest event that it has; undefined for a new one
   * @throws Problem `overloaded`, `stopping`; StorageUnavailable
   */
  async add(viewer: Viewer, lastEvent: number | undefined): Promise<void> {
    if (this.#closed) throw new Problem('stopping', { retryAfter: 1 })
    const own = [...this.#viewers].filter(({ person }) => person === viewer.person)
    if (this.#viewers.size >= mostViewers.process || own.length >= mostViewers.person)
      throw new Problem('overloaded', { retryAfter: 30, detail: 'Too many live connections are open.' })
    this.#viewers.add(viewer)
    viewer.stream.once('close', () => this.#remove(viewer))
    try {
      await (this.#begun ??= this.#start())
    } catch (error) {
      this.#begun = undefined
      viewer.stream.destroy()
      throw error
    }
    viewer.send(helloMessage(this.#feed.position, { retryAfter, resumes: lastEvent !== undefined }))
    if (lastEvent !== undefined) this.#resume(viewer, lastEvent)
  }

  /** Ends all connections, and refuses new ones. */
  close(): void {
    this.#closed = true
    this.#end()
  }

  #end(): void {
    for (const viewer of this.#viewers) viewer.end()
  }

  /** Sends what came meanwhile. What changed besides is unknown, so that pages read everything again. */
  #resume(viewer: Viewer, lastEvent: number): void {
    const missed = this.#feed.since(lastEvent)
    if (missed) for (const row of missed) viewer.send(eventMessage(row, row.id))
    else viewer.send(gapMessage(this.#feed.position))
    viewer.send(changedMessage(topics))
  }

  async #start(): Promise<void> {
    this.#watch.forget()
    await this.#feed.start()
    await this.#watch.look()
    this.#scheduleLook()
    this.#scheduleBeat()
  }

  #remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    this.#cancelLook?.()
    this.#cancelBeat?.()
    this.#begun = undefined
  }

  #scheduleBeat(): void {
    this.#cancelBeat?.()
    this.#cancelBeat = this.#parts.clock.after(beatEvery, () => void this.#beat())
  }

  #scheduleLook(): void {
    this.#cancelLook?.()
    this.#cancelLook = this.#parts.clock.after(lookEvery, () => void this.#look(this.#begun))
  }

  async #look(begun: Promise<void> | undefined): Promise<void> {
    try {
      const changes = await this.#watch.look()
      const news = await this.#feed.look(changes.events)
      if (begun === this.#begun) await this.#publish(news, changes.topics)
    } catch (error) {
      // The next look finds what this one did not.
      this.#parts.logger.warn({ err: error }, 'live pages could not be notified of changes')
    }
    if (begun && begun === this.#begun) this.#scheduleLook()
  }

  async #publish({ added, changed, gap }: News, about: ReadonlySet<Topic>): Promise<void> {
    const { position } = this.#feed
    const messages = gap ? [gapMessage(position)] : []
    // First, because the changes have the id of the last one: a viewer that is cut off between them resumes behind that.
    for (const row of added) messages.push(eventMessage(row, row.id))
    for (const row of changed) messages.push(eventMessage(row, position))
    if (about.size > 0) messages.push(changedMessage(about))
    if (messages.length === 0) return
    await this.#send(Buffer.concat(messages))
  }

  /**
   * A credential may have ended since the last message: each is checked before anything is sent. Viewers that are added meanwhile
   * have the news already.
   */
  async #send(bytes: Buffer): Promise<void> {
    const present = [...this.#viewers]
    const allowed = new Map<string, boolean>()
    for (const { credential, isAllowed } of present)
      // Without a database nobody is allowed: the browser connects again after a while. The look logs the error.
      if (!allowed.has(credential)) allowed.set(credential, await isAllowed().catch(() => false))
    for (const viewer of present)
      if (allowed.get(viewer.credential) === true) viewer.send(bytes)
      else viewer.end()
  }

  async #beat(): Promise<void> {
    const begun = this.#begun
    await this.#send(heartbeat)
    if (begun && begun === this.#begun) this.#scheduleBeat()
  }
}
