import { Command } from 'commander'
import { ConfigurationError } from '../config/environment.ts'
import { version } from '../http/openapi.ts'

/** Commands are loaded when they are called: starting the server does not pay for the others. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const program = new Command('postern').description('The gate of a product: sign-in, webhooks in, webhooks out, lists.').version(version)

  program
    .command('serve')
    .description('run the service')
    .option('--only <role>', 'http or workers: one role of several on one PostgreSQL')
    .option('--no-migrate', 'leave the database as it is; see `postern migrate`')
    .action(async (options: { only?: string; migrate: boolean }) => (await import('./serve.ts')).serve(options))

  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`)
    process.exitCode = 1
  }
}

/** Mistakes of the user are told in words; everything else with its stack. */
function describe(error: unknown): string {
  if (error instanceof ConfigurationError) return error.message
  const { code } = error as { code?: string }
  if (code === 'EADDRINUSE') return 'The port is taken: stop the other program, or set PORT to another one.'
  if (code === 'EACCES') return 'This port needs more rights: set PORT to one above 1023.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
