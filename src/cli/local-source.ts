import { withStoredSecrets } from '../config/generated-secrets.ts'
import { isSensitiveHeader } from '../telemetry/printable.ts'
import { secretAt } from '../receiving/schemes/create-scheme.ts'
import type { Scheme } from '../receiving/schemes/scheme.ts'
import { readSources } from '../receiving/sources.ts'
import { UsageFailure } from './command-failure.ts'
import { inspectConfiguration, readConfiguration } from '../diagnostics/configuration.ts'
import { signerOf } from '../receiving/samples/sign-for.ts'
import type { SampleRequest, SignedSample } from '../receiving/samples/index.ts'
import { keysOf, urlOf, writeKey } from '../receiving/forward.ts'
import { printTable } from './output.ts'
import { readKeyring } from './settings.ts'

interface SourceRequest extends Omit<SampleRequest, 'secret'> {
  /** The stored headers of an event that is sent again. */
  headers?: Readonly<Record<string, string>>
}

/** The sources of the configuration module and `provider`, by name. */
export async function localSources(): Promise<ReadonlyMap<string, Scheme>> {
  const { config, configuration } = await inspectConfiguration()
  const { webhookSecrets } = withStoredSecrets(configuration)
  const given = config?.receiving?.sources
  const sources = new Map(readSources(given, { webhookSecrets: webhookSecrets ?? ['none'] }))
  if (!webhookSecrets && !given?.['provider']?.hasSecret) sources.delete('provider')
  return sources
}

/**
 * Returns the function that signs webhooks for a source of this project, or for a preset by its name. It throws UsageFailure if the
 * source would not accept the webhook.
 * @param secret instead of that of the source; needed for a preset that is no source here, and for senders with a key pair
 * @throws UsageFailure if there is no such source or preset, or no secret
 */
export function findSource(
  sources: ReadonlyMap<string, Scheme>,
  name: string,
  secret: string | undefined,
): (request: SourceRequest) => SignedSample {
  const scheme = sources.get(name)
  const sample = signerOf(scheme ?? { name })
  if (!sample)
    throw new UsageFailure(
      `there is no source ${name}, and no preset of this name: see \`postern trigger --list\``,
    )
  return (request) => {
    const used = secret ?? (scheme && secretAt(scheme, request.now))
    if (used === undefined) throw new UsageFailure(`the secret of ${name} is not known here: pass --secret`)
    const signed = signOrRefuse(name, () => sample({ ...request, secret: used }))
    const headers = withStored(signed.headers, request.headers)
    const { now, url = '' } = request
    const result = scheme?.verify({ rawBody: Buffer.from(signed.body), headers, now, url })
    if (result && 'rejected' in result && secret === undefined)
      throw new UsageFailure(`the source ${name} would reject this webhook: ${result.detail}`)
    return { ...signed, headers }
  }
}

/** The headers of an event, with those that hold a signature or its time made anew. */
export function withStored(
  signed: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const renewed = Object.entries(signed).filter(([name]) => isSensitiveHeader(name) || name.includes('time'))
  return { 'content-type': 'application/json', ...signed, ...stored, ...Object.fromEntries(renewed) }
}

function signOrRefuse(name: string, sign: () => SignedSample): SignedSample {
  try {
    return sign()
  } catch {
    throw new UsageFailure(`${name} has a key pair: pass the private key with --secret`)
  }
}

/**
 * Shows the sources with their addresses, and where they are forwarded; with `secrets` also what receivers of forwarded
 * webhooks verify by, newest first.
 */
export async function listSources({ secrets = false }: { secrets?: boolean }): Promise<void> {
  const { configuration, config } = await readConfiguration()
  const keyring = readKeyring(configuration)
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
