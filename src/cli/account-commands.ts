import { Argument, type Command } from 'commander'
import { scopes } from '../http/access/principal.ts'

/**
 * Loads a command when it is called: starting the server does not pay for the others. The command gets its arguments, then its options.
 */
export const later =
  <Args extends unknown[]>(load: () => Promise<(...args: Args) => unknown>) =>
  async (...args: Args): Promise<void> => {
    await (
      await load()
    )(...args)
  }

/** keys: of the API, and those that sign and seal */
export function keyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('API keys: shown once, stored as hashes; the keys that sign and seal')
  keys
    .command('create <name>')
    .description('create a key and show it once')
    .option(
      '--scope <scope>',
      'a permission, such as events:write or subscribers:*; comma-separated or repeated',
      each,
    )
    .option(
      '--role <role>',
      'admin: everything, like --scope admin; user: only the given scopes, or lists:read',
    )
    .option('--expires <when>', '12h, 90d, 4w or a date')
    .addHelpText('after', `\nScopes:\n${describeScopes()}`)
    .action(later(async () => (await import('./keys.ts')).createKey))
  keys
    .command('list')
    .description('list all keys, newest first')
    .action(later(async () => (await import('./keys.ts')).listKeys))
  keys
    .command('revoke <id>')
    .description('revoke a key; it is invalid immediately')
    .action(later(async () => (await import('./keys.ts')).revokeKey))
  keys
    .command('reseal')
    .description('encrypt all stored secrets with the newest POSTERN_SECRET, before you remove older ones')
    .addHelpText(
      'after',
      '\nSafe while the service runs, and safe to stop and run again. Exit code: 0 when nothing needs an older secret.',
    )
    .action(later(async () => (await import('./keys.ts')).resealCommand))
  keys
    .command('rotate-signing')
    .description(
      'create the next key for access tokens; older keys stay valid until their tokens have expired',
    )
    .option('--now', 'withdraw older keys immediately, for example after a leak')
    .addHelpText(
      'after',
      '\nThe service rejects tokens of a withdrawn key at once. Other verifiers accept them until they fetch\n/.well-known/jwks.json again: within five minutes if they follow its Cache-Control.',
    )
    .action(later(async () => (await import('./keys.ts')).rotateSigningKey))
}

/** users: roles, data, sessions, issuers */
export function userCommands(program: Command): void {
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
    .description("change a user's role; sessions and tokens end immediately")
    .action(later(async () => (await import('./users.ts')).setRole))
  users
    .command('export <user>')
    .description('export all data stored about a user, as JSON')
    .action(later(async () => (await import('./users.ts')).exportUser))
  users
    .command('delete <user>')
    .description('delete a user with all identities, sessions, consents and tokens')
    .action(later(async () => (await import('./users.ts')).deleteUser))
  users
    .command('sessions <user>')
    .description("list a user's sessions in browsers and apps")
    .action(later(async () => (await import('./users.ts')).listSessions))
  users
    .command('end-sessions <user> [session]')
    .description('end all sessions of a user, or one of them')
    .action(later(async () => (await import('./users.ts')).endSessions))
  users
    .command('issuers')
    .description("list the issuers of each provider's identities")
    .action(later(async () => (await import('./users.ts')).listIssuers))
  users
    .command('move-issuer <provider> <from> <to>')
    .description("bind a provider's identities to another issuer, after its server has moved")
    .action(later(async () => (await import('./users.ts')).moveIssuer))
}

function describeScopes(): string {
  const lines = Object.entries(scopes).map(([scope, meaning]) => `  ${scope.padEnd(18)} ${meaning}`)
  return lines.join('\n')
}

const each = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

/** clients: the apps of the database */
export function clientCommands(program: Command): void {
  const clients = program
    .command('clients')
    .description('apps that sign in here, except those of the configuration module')
  clients
    .command('list')
    .description('list the apps in the database, newest first')
    .action(later(async () => (await import('./clients.ts')).listClients))
  clients
    .command('create <name>')
    .description('create an app; show its ID and its secret once')
    .option('--redirect-uri <uri>', 'redirect URI after a sign-in; can be repeated', each)
    .option('--scope <scope>', 'a scope that the app can request; can be repeated', each)
    .option('--public', 'an app in a browser or on a device, without a secret')
    .option('--first-party', 'first-party app: skip the consent page')
    .option('--client-credentials', 'allow tokens without a user')
    .action(later(async () => (await import('./clients.ts')).createClient))
  clients
    .command('rotate-secret <id>')
    .description('create a new secret and show it once')
    .option('--overlap <hours>', 'hours in which the previous secret is still valid; default 24')
    .action(later(async () => (await import('./clients.ts')).rotateClientSecret))
  clients
    .command('delete <id>')
    .description('delete an app; its tokens are rejected immediately')
    .action(later(async () => (await import('./clients.ts')).deleteClient))
}
