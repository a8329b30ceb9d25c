import { Presets, SingleBar } from 'cli-progress'

export interface Progress {
  update(done: number, total?: number): void
  /** Removes the bar and prints a line that tells how far it came. */
  stop(): void
}

/** A bar on a terminal; in any case a line at the end that tells how far it came. */
export function showProgress(total: number, what: string): Progress {
  const bar = process.stderr.isTTY
    ? new SingleBar(
        { format: `{bar} {value}/{total} ${what}`, clearOnComplete: true, hideCursor: true },
        Presets.shades_classic,
      )
    : undefined
  let last = { done: 0, total }
  bar?.start(total, 0)
  return {
    update(done, total = last.total) {
      last = { done, total }
      bar?.setTotal(total)
      bar?.update(done)
    },
    stop() {
      bar?.stop()
      process.stdout.write(`${last.done} of ${last.total} ${what}\n`)
    },
  }
}
