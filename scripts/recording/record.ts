// Runs commands in a terminal, as a reader would, and keeps what they print with its times.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Line, Step } from './recording.ts'

/** A line that was overwritten in place, as npm does it with its signs of progress, as it is at its end. */
const final = (line: string): string =>
  line
    // oxlint-disable-next-line no-control-regex -- What moves the cursor to the begin of a line.
    .split(/\r|\u001B\[1G/)
    .at(-1)!
    // oxlint-disable-next-line no-control-regex -- Colours, and what erases.
    .replaceAll(/\u001B\[[\d;?]*[A-Za-z]/g, '')

const since = (started: number): number => Math.round((performance.now() - started) / 10) / 100

/** What differs from the page that shows the recording, or must not be in a picture: addresses, folders, keys. */
export type Edit = (text: string) => string

export class Terminal {
  readonly #cwd: string
  readonly #env: Record<string, string>
  readonly #columns: number
  readonly #edit: Edit

  constructor(cwd: string, env: Record<string, string>, columns: number, edit: Edit) {
    this.#cwd = cwd
    this.#env = env
    this.#columns = columns
    this.#edit = edit
  }

  /**
   * Runs a command to its end, or until it has printed a line.
   * @param shown what the recording shows as typed
   * @param run what is run in its place: with the port of this run
   * @param last a line after which the command is left running
   */
  async run(shown: string, run: string, last?: RegExp): Promise<{ step: Step; child: ChildProcess }> {
    const started = performance.now()
    // `script` gives the command a terminal: without one the service writes its log for machines.
    const child = spawn('script', ['-qfec', `stty cols ${this.#columns}; ${run}`, '/dev/null'], {
      cwd: this.#cwd,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    const lines: Line[] = []
    let rest = ''
    let isOver = false
    const ended = once(child, 'close')
    const seen = new Promise<void>((done) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        const parts = (rest + text).split('\n')
        rest = parts.pop()!
        const at = since(started)
        for (const part of parts) {
          if (isOver) return
          const line = final(part.replace(/\r+$/, ''))
          lines.push({ at, text: this.#edit(line) })
          isOver = last?.test(line) ?? false
          if (isOver) done()
        }
      })
    })
    await Promise.race([ended, ...(last ? [seen] : [])])
    // An answer of curl has no end of line.
    if (rest !== '' && !last)
      lines.push({ at: lines.at(-1)?.at ?? since(started), text: this.#edit(final(rest)) })
    return { step: { command: shown, lines }, child }
  }
}
