import { Keyring } from '../crypto/keyring.ts'
import { keysOf, urlOf, writeKey } from '../receiving/forward-target.ts'
import { readSources } from '../receiving/sources.ts'
import { CommandFailure } from './command-failure.ts'
import { readConfiguration } from '../diagnostics/configuration.ts'
import { printTable } from './output.ts'

/**
 * Shows the sources with their addresses, and where they are forwarded; with `secrets` also what receivers of forwarded
 * webhooks verify by, newest first.
 */
export async function listSources({ secrets = false }: { secrets?: boolean }): Promise<void> {
  const { configuration, config } = await readConfiguration()
  const { masterSecrets } = configuration
  if (!masterSecrets) throw new CommandFailure('POSTERN_SECRET is missing')
  const keyring = new Keyring(masterSecrets)
  const sources = readSources(config?.receiving?.sources, configuration)
  const rows = Array.from(sources, ([source, { name, forwardTo }]) => [
    source,
    name,
    `/webhooks/${source}`,
    forwardTo === undefined ? '' : urlOf(forwardTo),
    ...(secrets
      ? [forwardTo === undefined ? '' : keysOf(forwardTo, source, keyring).map(writeKey).join(',')]
      : []),
  ])
  const head = ['source', 'scheme', 'path', 'forwarded to', ...(secrets ? ['signed with'] : [])]
  printTable(head, rows)
}
