import { Argument, type Command } from 'commander'
import { later } from './account-commands.ts'

/** sources, send, trigger, listen, tail, events, dry-run, replay */
export function webhookCommands(program: Command): void {
  program
    .command('sources')
    .description('list webhook sources with their URLs and forward targets')
    .option('--secrets', 'also show the secrets that sign forwarded webhooks')
    .action(later(async () => (await import('./local-source.ts')).listSources))
  program
    .command('send <url>')
    .description('sign and send a sample webhook')
    .option(
      '--source <name>',
      'provider, or a preset such as stripe; an unknown name lists them all',
      'provider',
    )
    .option('--type <type>', 'event type', 'order.paid')
    .option('--secret <secret>', 'default WEBHOOK_SECRET, or the secret generated in demo mode')
    .option('--id <id>', 'event ID; default: a new one')
    .option('--data <json>', 'payload fields, or @FILE')
    .action(later(async () => (await import('./send.ts')).send))
  program
    .command('trigger [source] [type]')
    .description('sign and send a sample webhook to a source of this project, or as any preset')
    .option('--list', 'show the sources of this project, and all presets')
    .option(
      '--url <url>',
      'URL of the service, or of one of its sources; default BASE_URL, or PORT on this machine',
    )
    .option('--secret <secret>', "default: the source's secret in the configuration module")
    .option('--id <id>', 'event ID; default: a new one')
    .option('--data <json>', 'payload fields, or @FILE')
    .addHelpText('after', '\nExample:\n  postern trigger stripe invoice.paid --data \'{"id":"in_1"}\'')
    .action(later(async () => (await import('./send.ts')).trigger))
  program
    .command('listen')
    .description('register an endpoint on this machine; receive, verify and print its deliveries')
    .option('--port <port>', 'port on 127.0.0.1', '4400')
    .option('--secret <whsec>', 'secret of an existing endpoint, instead of registering one')
    .option('--url <url>', 'service to register at; default BASE_URL, or PORT on this machine')
    .option('--key <key>', 'API key with the scope subscribers:write; default ADMIN_API_KEY')
    .option('--types <patterns>', 'event types, comma-separated; default all')
    .action(later(async () => (await import('./listen.ts')).listen))
  program
    .command('tail')
    .description('show events as they arrive, until Ctrl-C')
    .option('--type <type>', 'only this type, or a pattern such as `order.*`')
    .option('--source <name>', 'only events from this source')
    .option('--status <status>', 'events that change to this status, such as failed or retrying')
    .option('--since <time>', 'start at this time: 10m, 2h, 1d or a date')
    .option('--url <url>', 'URL of the service; default BASE_URL, or PORT on this machine')
    .option('--key <key>', 'API key with the scope events:read; default ADMIN_API_KEY')
    .addHelpText('after', '\nExample:\n  postern tail --status failed --since 1h --json')
    .action(later(async () => (await import('./tail.ts')).tail))
  eventCommands(program)
  program
    .command('dry-run <event>')
    .description('run the handlers of a received event without committing, and show what they would do')
    .option('--url <url>', 'URL of the service; default BASE_URL, or PORT on this machine')
    .option('--key <key>', 'API key with the scope webhooks:write; default ADMIN_API_KEY')
    .addHelpText('after', '\nThe event is the number that `postern tail` shows.')
    .action(later(async () => (await import('./events.ts')).dryRun))
  program
    .command('replay')
    .addArgument(new Argument('[what]').choices(['deliveries', 'events']))
    .description('resend failed `deliveries`, or reprocess failed `events`')
    .option('--subscriber <id>', 'only deliveries to this endpoint')
    .option('--event-type <type>', 'only this type; for events also a pattern such as `order.*`')
    .option('--since <time>', 'only since this time: 10m, 2h, 1d or a date')
    .option('--until <time>', 'only before this time, in the same formats')
    .option('--source <name>', 'only events from this source')
    .option('--error <text>', 'only events whose last error contains this text')
    .option(
      '--status <status>',
      'deliveries: dead (default), delivered, or missing, which needs --since: events that an endpoint matches now but never got; events: failed (default) or retrying',
    )
    .option('--rate <number>', 'maximum deliveries per second to each endpoint')
    .option('--dry-run', 'only count')
    .option('--to <url>', 'URL of the service that receives the failed events')
    .option('--from <url>', 'with --to: URL of the service with the failed events')
    .option('--key <key>', 'with --to: API key for --from with the scope events:read')
    .option('--secret <secret>', "with --to: secret instead of the source's in the configuration module")
    .addHelpText(
      'after',
      '\nExample:\n  postern replay events --to http://localhost:3000 --from https://gate.example.com --key pk_… --since 2026-11-01\n\nWith --to each event is signed again with the secret of the local source of the same name. An event that the local service\nhas already is not processed a second time.',
    )
    .action(later(async () => (await import('./replay.ts')).replay))
}

function eventCommands(program: Command): void {
  const events = program.command('events').description('received and emitted events, and scheduled ones')
  events
    .command('list')
    .description('list the newest hundred events')
    .option('--type <type>', 'only this type, or a pattern such as `order.*`')
    .option('--source <name>', 'only events from this source')
    .option('--status <status>', 'only events with this status, such as scheduled')
    .option('--url <url>', 'URL of the service; default BASE_URL, or PORT on this machine')
    .option('--key <key>', 'API key with the scope events:read; default ADMIN_API_KEY')
    .action(later(async () => (await import('./events.ts')).listEvents))
  events
    .command('cancel <event>')
    .description('cancel a scheduled event')
    .option('--url <url>', 'URL of the service; default BASE_URL, or PORT on this machine')
    .option('--key <key>', 'API key with the scope events:write; default ADMIN_API_KEY')
    .addHelpText('after', '\nThe event is the number that `postern events list --status scheduled` shows.')
    .action(later(async () => (await import('./events.ts')).cancelEvent))
}
