import type { SelectQueryBuilder } from 'kysely'
import { Type } from 'typebox'
import { posternCommand } from '../../code-folder.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import type { HistoryStore } from '../../telemetry/history/store.ts'
import { type App, route } from '../app.ts'
import { SharedAnswers } from '../caching/tagged-answer.ts'
import type { ModuleParts } from '../service-module.ts'

/** Milliseconds for which the facts are used again. */
const cachedFor = 1_000

const Step = Type.Object({
  id: Type.String(),
  title: Type.String(),
  detail: Type.String(),
  command: Type.String({ description: 'To be pasted into a shell, in the folder of the project' }),
  done: Type.Boolean(),
})

const Checklist = Type.Object({
  done: Type.Boolean({ description: 'Whether all steps are done' }),
  steps: Type.Array(Step),
})

export interface ChecklistParts extends Pick<
  ModuleParts,
  'database' | 'clock' | 'configuration' | 'baseUrl'
> {
  store: HistoryStore
  demoNames: DemoNames
  /** Whether there is a configuration module, and whether it declares a list. */
  hasModule: boolean
  declaresLists: boolean
}

/** Declares `GET /checklist`: the steps of a new installation. */
export function checklistRoute(app: App, parts: ChecklistParts): void {
  const { database, store, clock, demoNames } = parts
  const facts = new SharedAnswers<InstallationFacts>(clock, cachedFor)
  app.get(
    '/checklist',
    route(
      { scope: 'operate' },
      ['operations'],
      'The setup checklist and its progress',
      {
        description: 'Derived from what is stored. Each step has a command that does it.',
        response: { 200: Checklist },
      },
      { openInDemo: true, quiet: true },
    ),
    async () => {
      const steps = stepsOf(
        parts,
        await facts.get('', () => readFacts(database, store, demoNames, parts.baseUrl())),
      )
      return { done: steps.every(({ done }) => done), steps }
    },
  )
}

/** What a handler is, and where its code goes: a checkout has no configuration module until somebody makes one. */
function handlerDetail({ configuration, hasModule }: Pick<ChecklistParts, 'configuration' | 'hasModule'>) {
  if (hasModule) {
    const file = configuration.configFile ?? 'postern.config.ts'
    return `A handler is your code for an event type. Add one to receiving.handlers in ${file}, such as 'order.paid': (event, { log }) => log.info(event.id). Restart, then send an event of its type.`
  }
  return 'A handler is your code for an event type. It needs a project. This command creates one in ../shop with postern.config.ts, a handler and its test. Start that project and send an event of the handler’s type.'
}

function stepsOf(parts: ChecklistParts, facts: InstallationFacts) {
  const { configuration, baseUrl, hasModule, declaresLists } = parts
  const url = baseUrl()
  return [
    {
      id: 'webhook',
      title: 'Receive a webhook',
      detail: 'Sends a signed sample webhook to the source named provider.',
      command: `${posternCommand} send ${url}/webhooks/provider`,
      done: facts.webhook,
    },
    {
      id: 'handler',
      title: 'Run a handler',
      detail: handlerDetail(parts),
      command: hasModule
        ? `${posternCommand} send ${url}/webhooks/provider --type order.paid`
        : `${posternCommand} init ../shop --yes`,
      done: facts.handlerRun,
    },
    {
      id: 'key',
      title: 'Create an API key',
      detail:
        'Your programs authenticate with it. It is shown once: export it as POSTERN_KEY for the next steps.',
      command: `${posternCommand} keys create first --scope subscribers:write,events:write,events:read`,
      done: facts.key,
    },
    {
      id: 'subscriber',
      title: 'Add an endpoint',
      detail: 'Registers an endpoint on this machine while the command runs, and prints each delivery.',
      command: `${posternCommand} listen --url ${url} --key "$POSTERN_KEY"`,
      done: facts.subscriber,
    },
    {
      id: 'delivery',
      title: 'Deliver an event',
      detail: 'Sends an event to every endpoint that subscribes to its type.',
      command: `curl -s -X POST ${url}/events -H "authorization: Bearer $POSTERN_KEY" -H 'content-type: application/json' -d '{"type":"order.shipped","data":{"order":"42"}}'`,
      done: facts.delivery,
    },
    {
      id: 'list',
      title: 'Declare a list',
      detail:
        'Add a list() of one of your tables to listing.lists in postern.config.ts. The command checks it. Restart to serve it.',
      command: `${posternCommand} config check`,
      done: declaresLists,
    },
    {
      id: 'provider',
      title: 'Sign in with a real provider',
      detail: `Set a provider’s client ID and secret, such as GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, and register the callback ${url}/auth/github/callback there. The command checks them.`,
      command: `${posternCommand} doctor`,
      done: facts.realSignIn,
    },
    {
      id: 'production',
      title: 'Use production settings',
      detail: 'Set NODE_ENV=production and an https BASE_URL. The command lists what is missing.',
      command: `NODE_ENV=production ${posternCommand} config check`,
      done: !configuration.demo && configuration.production,
    },
  ]
}

/** What demo mode creates by itself, which does not count as done. */
interface DemoNames {
  readonly provider: string
  /** How the names of the keys look to `like`, and the addresses of subscribers below that of the service. */
  readonly keys: string
  readonly subscribers: string
  /** The subscribers that get sample events only. */
  readonly subscribersOfSamples: string
  /** The source of the sample events, and how their types begin. */
  readonly source: string
  readonly types: string
  /** The time until which the history counts the sample events, in milliseconds since 1970; undefined without them. */
  readonly samplesUntil: (database: Pick<Database, 'reader'>) => Promise<number | undefined>
}

/** Which steps of an installation are done, by what is stored. */
interface InstallationFacts {
  realSignIn: boolean
  webhook: boolean
  handlerRun: boolean
  key: boolean
  subscriber: boolean
  delivery: boolean
}

/** Rows that are examined, the latest. A fresh installation has fewer; later, the history knows. */
const mostExamined = 100

/** Reads the facts by a few seeks in indexes. */
async function readFacts(
  { reader }: Pick<Database, 'reader'>,
  history: Pick<HistoryStore, 'hasSucceeded'>,
  demo: DemoNames,
  baseUrl: string,
): Promise<InstallationFacts> {
  const samplesUntil = await demo.samplesUntil({ reader })
  const events = await reader
    .selectFrom('event_queue')
    .select(['status', 'attempts'])
    .where((eb) => eb.not(eb.and([eb('source', '=', demo.source), eb('type', 'like', `${demo.types}%`)])))
    .orderBy('event', 'desc')
    .limit(mostExamined)
    .execute()
  const ofSamples = reader
    .selectFrom('subscribers')
    .select('subscribers.id')
    .where('url', 'like', baseUrl + demo.subscribersOfSamples)
  const deliveries = await reader
    .selectFrom('deliveries')
    .select('status')
    .where('subscriber_id', 'not in', ofSamples)
    .orderBy('id', 'desc')
    .limit(mostExamined)
    .execute()
  return {
    realSignIn: await hasRealIdentity(reader, demo.provider),
    webhook: events.length > 0,
    handlerRun:
      events.some(({ status, attempts }) => status === 'processed' && attempts > 0) ||
      (await history.hasSucceeded('handlers', samplesUntil)),
    key: await isAny(
      reader
        .selectFrom('api_keys')
        .select('id')
        .where('revoked_at', 'is', null)
        .where('name', 'not like', demo.keys),
    ),
    subscriber: await isAny(
      reader
        .selectFrom('subscribers')
        .select('id')
        .where('url', 'not like', baseUrl + demo.subscribers),
    ),
    delivery:
      deliveries.some(({ status }) => status === 'delivered') ||
      (await history.hasSucceeded('deliveries', samplesUntil)),
  }
}

/** Seeks before and behind the identities of the demo provider, which may be many. */
async function hasRealIdentity(reader: Queryable, demoProvider: string): Promise<boolean> {
  const seek = (operator: '<' | '>'): Promise<boolean> =>
    isAny(reader.selectFrom('identities').select('provider').where('provider', operator, demoProvider))
  return (await seek('<')) || (await seek('>'))
}

async function isAny<T extends keyof Tables, O>(query: SelectQueryBuilder<Tables, T, O>): Promise<boolean> {
  return (await query.limit(1).execute()).length > 0
}
