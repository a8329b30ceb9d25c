import type { Spool, SpoolEntry, SpoolSize } from '../../src/receiving/spool/spool.ts'

/** A custom spool in memory. It outlives the service that uses it, as a spool on another machine does. */
export class MemorySpool<Content = Uint8Array> implements Spool<Content> {
  readonly entries = new Map<string, Content>()
  /** The reasons of rejected entries, by id. */
  readonly rejected = new Map<string, string>()
  /** Awaited by each call before it begins. A test makes it reject. */
  before: (method: 'append' | 'read' | 'remove' | 'size') => Promise<void> | void = () => undefined
  closed = 0
  #last = 0

  async append(contents: readonly Content[]): Promise<void> {
    await this.before('append')
    for (const content of contents) this.entries.set(String((this.#last += 1)), content)
  }

  async read(limit: number): Promise<SpoolEntry<Content>[]> {
    await this.before('read')
    return [...this.entries].slice(0, limit).map(([id, content]) => ({ id, content }))
  }

  async remove(ids: readonly string[], rejected?: string): Promise<void> {
    await this.before('remove')
    for (const id of ids) {
      this.entries.delete(id)
      if (rejected !== undefined) this.rejected.set(id, rejected)
    }
  }

  async size(): Promise<SpoolSize> {
    await this.before('size')
    return { entries: this.entries.size }
  }

  async close(): Promise<void> {
    this.closed += 1
  }
}
