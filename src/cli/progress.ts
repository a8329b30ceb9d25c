import { Presets, SingleBar } from 'cli-progress'
import { isJson } from './output.ts'

export interface Progress {
  /** @param note shown after the bar */
  update(done: number, total?: number, note?: string): void
  /** A line that stays. */
  say(text: string): void
  /** Removes the bar, and prints how far it came, if the total is what the command prints. */
  stop(): void
}

/** Milliseconds between two lines without a terminal. */
const interval = 10_000

/**
 * A bar on a terminal; elsewhere a line every ten seconds. Both go to stderr.
 * @param total 0 if it is not known yet
 * @param final whether a line at the end tells how far it came; with `--json` it goes to stderr
 */
export function showProgress(total: number, what: string, final = true): Progress {
  let last = { done: 0, total, note: '' }
  const line = (): string =>
    `${last.total > 0 ? `${last.done} of ${last.total}` : last.done} ${what}${after(last.note)}\n`
  // A bar without a total would say 0 of 0, and a small database is copied before its size is told.
  let bar = process.stderr.isTTY && total > 0 ? startBar(total, what) : undefined
  let next = performance.now() + interval
  return {
    update(done, total = last.total, note = '') {
      last = { done, total, note }
      if (process.stderr.isTTY && total > 0) bar ??= startBar(total, what)
      bar?.setTotal(total)
      bar?.update(done, { note: after(note) })
      if (bar || performance.now() < next) return
      next = performance.now() + interval
      process.stderr.write(line())
    },
    // The bar is drawn anew below the line.
    say: (text) => void process.stderr.write(`${bar ? '\r\x1b[K' : ''}${text}\n`),
    stop() {
      bar?.stop()
      if (final) (isJson() ? process.stderr : process.stdout).write(line())
    },
  }
}

function after(note: string): string {
  return note === '' ? '' : ` · ${note}`
}

function startBar(total: number, what: string): SingleBar {
  const bar = new SingleBar(
    {
      format: `{bar} {value}/{total} ${what} · {eta_formatted} left{note}`,
      clearOnComplete: true,
      hideCursor: true,
      stopOnComplete: false,
    },
    Presets.shades_classic,
  )
  bar.start(total, 0, { note: '' })
  return bar
}
