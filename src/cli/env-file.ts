import { existsSync } from 'node:fs'
import { CommandFailure } from './command-failure.ts'

/**
 * Adds the variables of a file to the environment. Variables that are set already keep their values.
 * @param named the file of `--env-file`; otherwise `.env` of the working directory, if there is one
 * @throws CommandFailure if the named file cannot be read
 */
export function loadEnvFile(named?: string): void {
  const file = named ?? '.env'
  if (named === undefined && !existsSync(file)) return
  try {
    process.loadEnvFile(file)
  } catch (error) {
    throw new CommandFailure(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}
