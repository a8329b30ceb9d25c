import { Argument, Command, Option } from 'commander'
import { version } from '../http/schemas/openapi.ts'
import { scopes } from '../http/access/scopes.ts'
import { exitCodes } from './command-failure.ts'
import type { CreateOptions } from './keys.ts'
import type { AuditExportOptions } from './audit.ts'
import type { InitOptions } from './init/init.ts'
import type { ImportFormat, ImportKind } from '../listing/importing/import-file.ts'
import type { ListsAction } from './lists.ts'
import type { ServeOptions } from './serve.ts'
import type { Shell } from './completion.ts'
import { clientCommands } from './client-commands.ts'
import { webhookCommands } from './webhook-commands.ts'

/** Commands are loaded when they are called: starting the server does not pay for the others. */
export function commandLine(): Command {
  const program = new Command('postern')
    .description('The gate of a product: sign-in, webhooks in, webhooks out, lists.')
    .version(version)
    .option('--env-file <file>', 'read settings from this file instead of .env; the environment wins')
    .option('--json', 'print JSON: one document, or one line for each entry of a stream')
    .addHelpText('after', `\nExit codes:\n${describeExitCodes()}`)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.usage.code))
    .hook('preAction', async (command, action) => {
      const { envFile, json } = command.opts<{ envFile?: string; json?: boolean }>()
      if (json) (await import('./output.ts')).useJson()
      // Its child reads the file anew at each start.
      if (action.name() === 'dev') return
      ;(await import('./env-file.ts')).loadEnvFile(envFile)
    })
  for (const declare of [
    serviceCommands,
    configCommands,
    keyCommands,
    clientCommands,
    userCommands,
    webhookCommands,
    dataCommands,
  ])
    declare(program)
  return program
}

/** init, dev, serve, migrate, upgrade, backup, restore, doctor, completion */
function serviceCommands(program: Command): void {
  program
    .command('init [folder]')
    .description('write a new project: configuration, a migration, a test and settings')
    .option('--yes', 'ask nothing')
    .option('--name <name>', 'of the project; default: the name of the folder')
    .option('--empty', 'without the sample source, handler, list, migration and test')
    .action(async (folder: string | undefined, options: InitOptions) =>
      (await import('./init/init.ts')).init(folder, options),
    )
  program
    .command('dev')
    .description('run the service, and start it again when a file of the project changes')
    .option(
      '--forward <url>',
      'post all events there, for handlers in another language; see `serve --forward`',
    )
    .addHelpText('after', '\nExample:\n  postern dev --forward http://localhost:8000/events')
    .action(async ({ forward }: { forward?: string }) =>
      (await import('./dev.ts')).dev(program.opts<{ envFile?: string }>().envFile, forward),
    )
  program
    .command('serve')
    .description('run the service')
    .addOption(
      new Option('--only <role>', 'one role of several on one PostgreSQL').choices(['http', 'workers']),
    )
    .option('--no-migrate', 'leave the database as it is; see `postern migrate`')
    .option(
      '--forward <url>',
      'in development: post all events there, signed by Standard Webhooks; not 2xx is a failure',
    )
    .action(async (options: ServeOptions) => (await import('./serve.ts')).serve(options))
  program
    .command('migrate')
    .description('bring the database to this version')
    .option('--dry-run', 'list the migrations without applying them')
    .action(async (options: { dryRun?: boolean }) => (await import('./migrate.ts')).migrateCommand(options))
  program
    .command('upgrade')
    .description(
      'list the migrations that this version would apply, and say whether a rolling upgrade is safe',
    )
    .requiredOption('--check', 'change nothing; `serve` and `migrate` apply them')
    .addHelpText(
      'after',
      '\nExample:\n  npx postern@latest upgrade --check || echo "stop the old processes first"',
    )
    .action(async () => (await import('./upgrade.ts')).checkUpgrade())
  program
    .command('backup <file>')
    .description('copy the database to a new file, while the service runs')
    .action(async (file: string) => (await import('./backup.ts')).backup(file))
  program
    .command('restore <file>')
    .description('write a backup to the empty database that DATABASE_URL names')
    .action(async (file: string) => (await import('./backup.ts')).restore(file))
  program
    .command('doctor')
    .description('check settings, database, clock and providers')
    .action(async () => (await import('./doctor.ts')).doctor())
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .description('print a script by which a shell completes commands, options and choices')
    .addHelpText('after', '\nExample, for ~/.bashrc:\n  source <(postern completion bash)')
    .action(async (shell: Shell) => (await import('./completion.ts')).printCompletion(shell, program))
}

/** config: check, print */
function configCommands(program: Command): void {
  const config = program.command('config').description('the settings and the configuration module')
  config
    .command('check')
    .description('check the settings and the configuration module as `serve` does, and report the faults')
    .addHelpText('after', '\nExample:\n  postern --env-file production.env config check')
    .action(async () => (await import('./config.ts')).checkConfig())
  config
    .command('print')
    .description('show each setting in force and where it comes from; of secrets only that they are set')
    .addHelpText('after', '\nExample:\n  postern config print --json')
    .action(async () => (await import('./config.ts')).printConfig())
}

/** keys: of the API, and those that sign and seal */
function keyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('API keys: shown once, stored as hashes; the keys that sign and seal')
  keys
    .command('create <name>')
    .description('create a key and show it once')
    .option(
      '--scope <scope>',
      'what the key permits, such as events:write or subscribers:*; several comma-separated or repeated',
      (scope: string, before: string[] | undefined) => [...(before ?? []), scope],
    )
    .option('--role <role>', 'admin: everything, as --scope admin; user: only the scopes')
    .option('--expires <when>', '12h, 90d, 4w or a date')
    .addHelpText('after', `\nScopes:\n${describeScopes()}`)
    .action(async (name: string, options: CreateOptions) =>
      (await import('./keys.ts')).createKey(name, options),
    )
  keys
    .command('list')
    .description('show all keys, newest first')
    .action(async () => (await import('./keys.ts')).listKeys())
  keys
    .command('revoke <id>')
    .description('revoke a key; it is invalid immediately')
    .action(async (id: string) => (await import('./keys.ts')).revokeKey(id))
  keys
    .command('reseal')
    .description(
      'seal all stored secrets again with the newest POSTERN_SECRET, so that older ones can be removed',
    )
    .addHelpText(
      'after',
      '\nSafe while the service runs, and safe to stop and run again. Exit code: 0 when nothing needs an older secret.',
    )
    .action(async () => (await import('./reseal.ts')).resealCommand())
  keys
    .command('rotate-signing')
    .description(
      'create the next key that signs access tokens; older keys are valid until their tokens have expired',
    )
    .option('--now', 'withdraw the older keys immediately, for example if one has leaked')
    .addHelpText(
      'after',
      '\nThe service refuses tokens of a withdrawn key at once. Other verifiers take them until they fetch\n/.well-known/jwks.json again: within five minutes if they follow its Cache-Control.',
    )
    .action(async (options: { now?: boolean }) =>
      (await import('./signing-keys.ts')).rotateSigningKey(options),
    )
}

/** users: roles, data, sessions, issuers */
function userCommands(program: Command): void {
  const users = program.command('users').description('users, by id or provider:providerId')
  users
    .command('block <user>')
    .description('block a user; sessions and tokens end immediately')
    .action(async (user: string) => (await import('./users.ts')).setBlocked(user, true))
  users
    .command('unblock <user>')
    .description('allow a blocked user to sign in again')
    .action(async (user: string) => (await import('./users.ts')).setBlocked(user, false))
  users
    .command('role')
    .argument('<user>')
    .addArgument(new Argument('<role>').choices(['user', 'admin']))
    .description('change the role of a user; sessions and tokens end immediately')
    .action(async (user: string, role: 'user' | 'admin') => (await import('./users.ts')).setRole(user, role))
  users
    .command('export <user>')
    .description('write all that is stored about a user, as JSON')
    .action(async (user: string) => (await import('./users.ts')).exportUser(user))
  users
    .command('delete <user>')
    .description('delete a user with identities, sessions, consents and tokens')
    .action(async (user: string) => (await import('./users.ts')).deleteUser(user))
  users
    .command('sessions <user>')
    .description('list the sessions of a user, in browsers and apps')
    .action(async (user: string) => (await import('./users.ts')).listSessions(user))
  users
    .command('end-sessions <user> [session]')
    .description('end all sessions of a user, or one of them')
    .action(async (user: string, session?: string) => (await import('./users.ts')).endSessions(user, session))
  users
    .command('issuers')
    .description('list the issuers to which the identities of each provider are bound')
    .action(async () => (await import('./users.ts')).listIssuers())
  users
    .command('move-issuer <provider> <from> <to>')
    .description('bind the identities of a provider to another issuer, after its server has moved')
    .action(async (provider: string, from: string, to: string) =>
      (await import('./users.ts')).moveIssuer(provider, from, to),
    )
}

/** lists, import, audit */
function dataCommands(program: Command): void {
  program
    .command('lists')
    .addArgument(new Argument('<action>').choices(['keep', 'check', 'repair', 'forget']))
    .argument('[path]')
    .description(
      'maintain the counts of a list by triggers, check or repair them, or stop (`forget`); without a path, of all lists that declare counts',
    )
    .action(async (action: ListsAction, path: string | undefined) =>
      (await import('./lists.ts')).listsCommand(action, path),
    )
  program
    .command('import')
    .addArgument(new Argument('<kind>').choices(['users', 'products', 'posts']))
    .argument('<file>')
    .description('import users, products or posts from NDJSON or CSV; safe to run again')
    .addOption(new Option('--format <format>', 'default by the name of the file').choices(['ndjson', 'csv']))
    .addHelpText(
      'after',
      '\nExit code: 0 when every line was imported, 3 when invalid lines were skipped and all others imported.',
    )
    .action(async (kind: ImportKind, file: string, options: { format?: ImportFormat }) =>
      (await import('./import.ts')).importCommand(kind, file, options),
    )
  program
    .command('audit')
    .description('the audit log')
    .command('export')
    .description('write the audit log to standard output, one JSON object per line, oldest first')
    .option('--since <time>', 'only entries of this time or later: 10m, 2h, 1d or a time')
    .option('--after <seq>', 'only entries after this `seq`')
    .option('--follow', 'continue with new entries until Ctrl-C')
    .action(async (options: AuditExportOptions) => (await import('./audit.ts')).exportAudit(options))
}

function describeExitCodes(): string {
  return Object.values(exitCodes)
    .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
    .join('\n')
}

function describeScopes(): string {
  const lines = Object.entries(scopes).map(([scope, meaning]) => `  ${scope.padEnd(18)} ${meaning}`)
  return lines.join('\n')
}
