import type { Command } from 'commander'
import type { CreateClientOptions } from './clients.ts'

const each = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

/** clients: the apps of the database */
export function clientCommands(program: Command): void {
  const clients = program
    .command('clients')
    .description('apps that sign in here, except those of the configuration module')
  clients
    .command('list')
    .description('show the apps of the database, newest first')
    .action(async () => (await import('./clients.ts')).listClients())
  clients
    .command('create <name>')
    .description('create an app; show its id and its secret once')
    .option('--redirect-uri <uri>', 'where users return to after a sign-in; repeat it for several', each)
    .option('--scope <scope>', 'a scope that the app may ask for; repeat it for several', each)
    .option('--public', 'an app in a browser or on a device, without a secret')
    .option('--first-party', 'an app of the product: users are not asked for consent')
    .option('--client-credentials', 'allow tokens without a user')
    .action(async (name: string, options: CreateClientOptions) =>
      (await import('./clients.ts')).createClient(name, options),
    )
  clients
    .command('rotate-secret <id>')
    .description('create a new secret and show it once')
    .option('--overlap <hours>', 'for which the secret before is valid as well; default 24')
    .action(async (id: string, options: { overlap?: string }) =>
      (await import('./clients.ts')).rotateClientSecret(id, options),
    )
  clients
    .command('delete <id>')
    .description('delete an app; its tokens are rejected immediately')
    .action(async (id: string) => (await import('./clients.ts')).deleteClient(id))
}
