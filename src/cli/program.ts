import { Argument, Command, Option } from 'commander'
import { version } from '../runtime/version.ts'
import { exitCodes } from './command-failure.ts'
import type { SvixImportOptions } from './import-svix.ts'
import type { Shell } from './completion.ts'
import { webhookCommands } from './webhook-commands.ts'
import { clientCommands, keyCommands, later, userCommands } from './account-commands.ts'

export function commandLine(): Command {
  const program = new Command('postern')
    .description('Sign-in, webhooks and lists for your product, self-hosted.')
    .version(version)
    .option(
      '--env-file <file>',
      'read settings from this file instead of .env; environment variables take precedence',
    )
    .option('--json', 'print JSON: one document, or one line per entry of a stream')
    .showHelpAfterError('Add --help for the commands and options.')
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
    .option('--yes', 'skip the questions')
    .option('--name <name>', 'project name; default: the folder name')
    .option('--empty', 'without the sample source, handler, list, migration and test')
    .addHelpText('after', '\nExample, in a checkout:\n  npm run -s postern -- init ../shop --yes')
    .action(later(async () => (await import('./init.ts')).init))
  program
    .command('dev')
    .description('run the service, and restart it when a project file changes')
    .option('--forward <url>', 'post all events to this URL; see `serve --forward`')
    .addHelpText('after', '\nExample:\n  postern dev --forward http://localhost:8000/events')
    .action(async ({ forward }: { forward?: string }) =>
      (await import('./dev.ts')).dev(program.opts<{ envFile?: string }>().envFile, forward),
    )
  program
    .command('serve')
    .description('run the service')
    .addOption(
      new Option('--only <role>', 'run only one role; needs PostgreSQL').choices(['http', 'workers']),
    )
    .option('--no-migrate', 'do not apply migrations; see `postern migrate`')
    .option(
      '--forward <url>',
      'in development: post all events to this URL, signed by Standard Webhooks; anything but 2xx is a failure',
    )
    .action(later(async () => (await import('./serve.ts')).serve))
  program
    .command('migrate')
    .description('apply pending migrations')
    .option('--dry-run', 'list the migrations without applying them')
    .action(later(async () => (await import('./migrate.ts')).migrateCommand))
  program
    .command('upgrade')
    .description('list pending migrations, and report whether a rolling upgrade is safe')
    .requiredOption('--check', 'change nothing; `serve` and `migrate` apply them')
    .addHelpText('after', '\nExample:\n  npx postern upgrade --check || echo "stop the old processes first"')
    .action(later(async () => (await import('./migrate.ts')).checkUpgrade))
  program
    .command('backup <file>')
    .description('copy the database to a new file; works while the service runs')
    .action(later(async () => (await import('./backup.ts')).backup))
  program
    .command('restore <file>')
    .description('restore a backup to the empty database in DATABASE_URL')
    .action(later(async () => (await import('./backup.ts')).restore))
  program
    .command('doctor')
    .description('check settings, database, clock and providers')
    .action(later(async () => (await import('./doctor.ts')).doctor))
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .description('print a completion script for the shell')
    .addHelpText('after', '\nExample, for ~/.bashrc:\n  source <(postern completion bash)')
    .action(async (shell: Shell) => (await import('./completion.ts')).printCompletion(shell, program))
}

/** config: check, print */
function configCommands(program: Command): void {
  const config = program.command('config').description('the settings and the configuration module')
  config
    .command('check')
    .description('check the settings and the configuration module as `serve` does')
    .addHelpText('after', '\nExample:\n  postern --env-file production.env config check')
    .action(later(async () => (await import('./doctor.ts')).checkConfig))
  config
    .command('print')
    .description('show each setting and its source, without secrets')
    .addHelpText('after', '\nExample:\n  postern config print --json')
    .action(later(async () => (await import('./doctor.ts')).printConfig))
}

/** lists, types, import, audit; see importCommands */
function dataCommands(program: Command): void {
  program
    .command('lists')
    .addArgument(new Argument('<action>').choices(['keep', 'check', 'repair', 'forget']))
    .argument('[path]')
    .description(
      "maintain a list's counts by triggers, check or repair them, or stop (`forget`); without a path, all lists that declare counts",
    )
    .action(later(async () => (await import('./lists.ts')).listsCommand))
  program
    .command('types')
    .argument('[file]', 'default: standard output')
    .description(
      "write the TypeScript types of your lists' rows, filters and sorts, for `postern-client/api`",
    )
    .option('--no-database', 'without the tables, fields that do not declare `nullable: false` may be null')
    .addHelpText('after', '\nExample:\n  npx postern types web/lists.ts')
    .action(later(async () => (await import('./lists.ts')).typesCommand))
  importCommands(
    program
      .command('import')
      .description('import a list from NDJSON or CSV, such as its export; safe to run again'),
  )
  program
    .command('audit')
    .description('the audit log')
    .command('export')
    .description('write the audit log to standard output, one JSON object per line, oldest first')
    .option('--since <time>', 'only entries since this time: 10m, 2h, 1d or a date')
    .option('--after <seq>', 'only entries after this `seq`')
    .option('--follow', 'continue with new entries until Ctrl-C')
    .action(later(async () => (await import('./audit.ts')).exportAudit))
}

/** `import <list> <file>` and `import svix` */
function importCommands(imports: Command): void {
  imports
    .argument('<list>', '`users`, `products`, `posts`, or the path or name of a list that you declare')
    .argument('<file>', '`-` for standard input')
    .addOption(new Option('--format <format>', 'default: by file extension').choices(['ndjson', 'csv']))
    .option('--dry-run', 'check everything, including the database constraints, and write nothing')
    .option('--upsert', 'update existing rows by key with the fields in the file')
    .option('--ignore-unknown', 'skip columns that are not fields of the list, or that the table computes')
    .option('--null <text>', 'the text of a null cell in CSV. Default: an empty cell')
    .addHelpText(
      'after',
      '\nExamples:\n  postern import products products.csv\n  postern import /orders orders.ndjson --upsert --dry-run\n\nExit code: 0 when every line was imported, 3 when invalid lines were skipped and all others imported.',
    )
    .action(later(async () => (await import('./import.ts')).importCommand))
  imports
    .command('svix')
    .description(
      'import event types, applications and endpoints with their secrets from a running Svix server; safe to run again',
    )
    .requiredOption('--from <url>', 'the URL of the Svix server; the API token is read from SVIX_AUTH_TOKEN')
    .option('--iterator <iterator>', 'continue an interrupted import at this page of applications')
    .option(
      '--messages-since <time>',
      'also import messages since this time (30d or a date); they are not sent',
    )
    .option('--dry-run', 'read and check everything, and write nothing')
    .addHelpText(
      'after',
      '\nExample:\n  SVIX_AUTH_TOKEN=testsk_… postern import svix --from https://api.eu.svix.com --dry-run\n\nExit code: 0 when everything was imported, 3 when entries were skipped and all others imported.',
    )
    // Commander assigns an option that `import` also has to `import`.
    .action(async (_: unknown, command: Command) =>
      (await import('./import-svix.ts')).importSvix(command.optsWithGlobals<SvixImportOptions>()),
    )
}

function describeExitCodes(): string {
  return Object.values(exitCodes)
    .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
    .join('\n')
}
