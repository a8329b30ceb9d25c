import { Argument, type Command } from 'commander'
import type { ListenOptions } from './listen.ts'
import type { ReplayOptions } from './replay.ts'
import type { ClientOptions } from './service-client.ts'
import type { SendOptions, TriggerOptions } from './send.ts'
import type { TailOptions } from './tail.ts'

/** sources, send, trigger, listen, tail, dry-run, replay */
export function webhookCommands(program: Command): void {
  program
    .command('sources')
    .description('the senders of webhooks, their addresses, and where they are forwarded')
    .option('--secrets', 'show what forwarded webhooks are signed with as well')
    .action(async (options: { secrets?: boolean }) => (await import('./sources.ts')).listSources(options))
  program
    .command('send <url>')
    .description('sign and send a sample webhook')
    .option(
      '--source <name>',
      'provider, or a preset such as stripe; an unknown one lists them all',
      'provider',
    )
    .option('--type <type>', 'the type of the event', 'order.paid')
    .option('--secret <secret>', 'default WEBHOOK_SECRET, or what the service in demo mode keeps')
    .option('--id <id>', 'the id of the event; default a new one')
    .option('--data <json>', 'its fields, or @FILE')
    .action(async (url: string, options: SendOptions) => (await import('./send.ts')).send(url, options))
  program
    .command('trigger [source] [type]')
    .description('sign and send a sample webhook to a source of this project, or as any preset')
    .option('--list', 'show the sources of this project, and all presets')
    .option(
      '--url <url>',
      'a service, or the whole address of a source; default BASE_URL, or PORT of this machine',
    )
    .option('--secret <secret>', 'default that of the source in the configuration module')
    .option('--id <id>', 'the id of the event; default a new one')
    .option('--data <json>', 'its fields, or @FILE')
    .addHelpText('after', '\nExample:\n  postern trigger stripe invoice.paid --data \'{"id":"in_1"}\'')
    .action(async (source: string | undefined, type: string | undefined, options: TriggerOptions) =>
      (await import('./send.ts')).trigger(source, type, options),
    )
  program
    .command('listen')
    .description('receive what a subscriber gets, verify and print it')
    .option('--port <port>', 'on 127.0.0.1', '4400')
    .option('--secret <whsec>', 'the secret of a subscriber that is registered already')
    .option('--url <url>', 'the Postern to register at; default BASE_URL, or PORT of this machine')
    .option('--key <key>', 'an API key with the scope subscribers:write for that; default ADMIN_API_KEY')
    .option('--types <patterns>', 'event types, comma-separated; default all')
    .action(async (options: ListenOptions) => (await import('./listen.ts')).listen(options))
  program
    .command('tail')
    .description('show the events of a service as they arrive, until Ctrl-C')
    .option('--type <type>', 'only of this type; `order.*` is all that begin with `order.`')
    .option('--source <name>', 'only events received from this source')
    .option('--status <status>', 'events when they get this status, such as failed or retrying')
    .option('--since <time>', 'begin with events of this time or later: 10m, 2h, 1d or a time')
    .option('--url <url>', 'the address of the service; default BASE_URL, or PORT of this machine')
    .option('--key <key>', 'an API key with the scope events:read; default ADMIN_API_KEY')
    .addHelpText('after', '\nExample:\n  postern tail --status failed --since 1h --json')
    .action(async (options: TailOptions) => (await import('./tail.ts')).tail(options))
  program
    .command('dry-run <event>')
    .description(
      'run the handlers of a received event in a transaction that is rolled back, and show what they would do',
    )
    .option('--url <url>', 'the address of the service; default BASE_URL, or PORT of this machine')
    .option('--key <key>', 'an API key with the scope webhooks:write; default ADMIN_API_KEY')
    .addHelpText('after', '\nThe event is the number that `postern tail` shows.')
    .action(async (event: string, options: ClientOptions) =>
      (await import('./dry-run.ts')).dryRun(event, options),
    )
  program
    .command('replay')
    .addArgument(new Argument('[what]').choices(['deliveries', 'events']))
    .description('send all dead `deliveries` again, or process all failed `events` again')
    .option('--subscriber <id>', 'only deliveries to this one')
    .option('--event-type <type>', 'only of this type; of events also `order.*`')
    .option(
      '--since <time>',
      'only what was created, or received, at this time or later: 10m, 2h, 1d or a time',
    )
    .option('--until <time>', 'only what was created, or received, before this time, in the same forms')
    .option('--source <name>', 'only events of this source')
    .option('--error <text>', 'only events whose last error holds this text')
    .option(
      '--status <status>',
      'deliveries: dead (default), pending or delivered; events: failed (default) or retrying',
    )
    .option('--rate <number>', 'at most so many deliveries per second to each subscriber')
    .option('--dry-run', 'only count')
    .option('--to <url>', 'bring the failed events of another service to this one')
    .option('--from <url>', 'with --to: the service that has the failed events')
    .option('--key <key>', 'with --to: an API key of that service, with the scope events:read')
    .option('--secret <secret>', 'with --to: instead of the secret of the source in the configuration module')
    .addHelpText(
      'after',
      '\nExample:\n  postern replay events --to http://localhost:3000 --from https://gate.example.com --key pk_… --since 2026-11-01\n\nWith --to each event is signed again with the secret of the local source of the same name. An event that the local service\nhas already is not processed a second time.',
    )
    .action(async (what: 'deliveries' | 'events' | undefined, options: ReplayOptions) =>
      (await import('./replay.ts')).replay(what, options),
    )
}
