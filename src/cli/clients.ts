import { storedClients } from '../oauth2/clients/client-routes.ts'
import type { ClientCaller, ClientManagement } from '../oauth2/clients/client-management.ts'
import { UsageFailure } from './command-failure.ts'
import { isJson, print, printTable } from './output.ts'
import { withServices } from './services.ts'

interface CreateClientOptions {
  redirectUri?: readonly string[]
  scope?: readonly string[]
  public?: boolean
  firstParty?: boolean
  clientCredentials?: boolean
}

/** Apps in the list of one command at most. */
const mostListed = 1_000

/** Makes an app and shows its id and secret, this once. */
export async function createClient(name: string, options: CreateClientOptions): Promise<void> {
  await withClients(async (clients, caller) => {
    const { client, secret } = await clients.create(
      {
        name,
        confidential: options.public !== true,
        settings: {
          redirectUris: options.redirectUri ?? [],
          scopes: options.scope,
          firstParty: options.firstParty,
          clientCredentials: options.clientCredentials,
        },
        origin: 'api',
      },
      caller,
    )
    showSecret(client.id, secret)
  })
}

export async function listClients(): Promise<void> {
  await withServices(async ({ database }) => {
    const rows = await storedClients(database, mostListed)
    printTable(
      ['id', 'name', 'kind', 'redirects to'],
      rows.map(({ id, name, confidential, firstParty, redirectUris }) => [
        id,
        name,
        `${confidential ? 'confidential' : 'public'}${firstParty ? ', first-party' : ''}`,
        redirectUris.join(' '),
      ]),
    )
  })
}

/** @param overlap hours for which the secret before is valid as well */
export async function rotateClientSecret(
  id: string,
  { overlap = '24' }: { overlap?: string },
): Promise<void> {
  const hours = Number(overlap)
  if (!(hours >= 0 && hours <= 720)) throw new UsageFailure(`--overlap takes 0 to 720 hours, not ${overlap}`)
  await withClients(async (clients, caller) => {
    const { secret } = await clients.addSecret(id, Math.round(hours * 3_600_000), caller)
    showSecret(id, secret)
  })
}

export async function deleteClient(id: string): Promise<void> {
  await withClients(async (clients, caller) => {
    await clients.remove(id, caller)
    print({ id, deleted: true }, `${id} is deleted\n`)
  })
}

function showSecret(id: string, secret: string | undefined): void {
  print(
    { id, ...(secret !== undefined && { secret }) },
    `${id}\n${secret === undefined ? '' : `${secret}\n`}`,
  )
  if (!isJson() && secret !== undefined)
    process.stderr.write('The secret is stored as a hash: this is the only time it is shown.\n')
}

/** The command line has all rights. */
function withClients(
  work: (clients: ClientManagement, caller: ClientCaller) => Promise<void>,
): Promise<void> {
  return withServices(async ({ clients }) =>
    work(await clients(), { origin: { actor: 'cli' }, requireAdmin: () => undefined }),
  )
}
