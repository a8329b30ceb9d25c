/** A command cannot do what it was asked; the message is all that the user is told, and says what to do. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

/** The command line is wrong. */
export class UsageFailure extends CommandFailure {}

/** What the exit codes of all commands mean. `--help` and docs/reference/commands.md are made of it. */
export const exitCodes = {
  done: { code: 0, meaning: 'Success. Also when Ctrl-C ended a stream.' },
  failed: {
    code: 1,
    meaning: 'The command failed or found a problem. The message says what to do.',
  },
  usage: { code: 2, meaning: 'Invalid command line. Nothing was done.' },
  partly: {
    code: 3,
    meaning:
      '`import` skipped invalid lines or entries; `replay --to` could not send every event; `upgrade --check` found that a rolling upgrade is not safe.',
  },
  interrupted: { code: 130, meaning: 'Interrupted by Ctrl-C.' },
} as const

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  return (error instanceof UsageFailure ? exitCodes.usage : exitCodes.failed).code
}
