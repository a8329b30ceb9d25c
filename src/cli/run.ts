import { printableLines } from '../telemetry/printable.ts'
import { CommandFailure, exitCodeOf, exitCodes } from './command-failure.ts'
import { loadEnvFile } from './env-file.ts'

/** Reads the command line and does what it says. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  endWithReader()
  const { commandLine } = await import('./program.ts')
  await run(async () => {
    await commandLine().parseAsync(argv)
  })
}

/** `postern serve` without options. */
export async function runPlainServe(): Promise<void> {
  const { serve } = await import('./serve.ts')
  await run(() => {
    loadEnvFile()
    return serve({ migrate: true })
  })
}

/** A reader that has enough, as `head` does, closes the pipe: that ends the command, and is no error. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A command with a listener of its own ends its work first.
    if (process.stdout.listenerCount('error') > 1) return
    if (error.code === 'EPIPE') process.exit()
    process.stderr.write(`Cannot write to standard output: ${error.message}\n`)
    process.exit(exitCodes.failed.code)
  })
}

async function run(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    const text = error instanceof CommandFailure ? error.message : await inWords(error)
    process.stderr.write(`${printableLines(text)}\n`)
    process.exitCode = exitCodeOf(error)
  }
}

/** Loaded for a failure only: it knows the errors of both database drivers, and a command needs at most one of them. */
async function inWords(error: unknown): Promise<string> {
  const { describeError } = await import('../diagnostics/describe-error.ts')
  return describeError(error)
}
