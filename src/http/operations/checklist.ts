import { Type } from 'typebox'
import { moduleExtension } from '../../code-folder.ts'
import type { Configuration } from '../../config/environment.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { HistoryStore } from '../../telemetry/history/store.ts'
import type { App } from '../app.ts'
import { SharedAnswers } from '../caching/shared-answers.ts'
import { readFacts, type DemoNames, type InstallationFacts } from './checklist-facts.ts'

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

export interface ChecklistParts {
  database: Database
  store: HistoryStore
  clock: Clock
  configuration: Configuration
  baseUrl: () => string
  demoNames: DemoNames
  /** Whether the configuration module declares a list. */
  declaresLists: boolean
}

/** Declares `GET /checklist`: the steps of a new installation. */
export function checklistRoute(app: App, parts: ChecklistParts): void {
  const { database, store, clock, demoNames } = parts
  const facts = new SharedAnswers<InstallationFacts>(clock, cachedFor)
  app.get(
    '/checklist',
    {
      config: { access: { scope: 'operate' }, openInDemo: true, quiet: true },
      schema: {
        tags: ['operations'],
        summary: 'The first steps of an installation, and which of them are done',
        description: 'Derived from what is stored. Each step has a command that does it.',
        response: { 200: Checklist },
      },
    },
    async () => {
      const steps = stepsOf(parts, await facts.get('', () => readFacts(database, store, demoNames)))
      return { done: steps.every(({ done }) => done), steps }
    },
  )
}

/** The command line of this installation: in a checkout, npm runs the sources. */
const postern = moduleExtension === '.ts' ? 'npm run postern --' : 'npx postern'

function stepsOf({ configuration, baseUrl, declaresLists }: ChecklistParts, facts: InstallationFacts) {
  const url = baseUrl()
  return [
    {
      id: 'webhook',
      title: 'Receive a webhook',
      detail:
        'Sends a signed sample to the source provider. Your own sources are in the configuration module.',
      command: `${postern} send ${url}/webhooks/provider`,
      done: facts.webhook,
    },
    {
      id: 'handler',
      title: 'Run a handler',
      detail:
        "Declare one in the configuration module, such as receiving.handlers: { 'order.paid': (event, { log }) => log.info(event.payload) }, restart, and send the type that it handles.",
      command: `${postern} send ${url}/webhooks/provider --type order.paid`,
      done: facts.handlerRun,
    },
    {
      id: 'key',
      title: 'Create an API key',
      detail: 'It is shown once. Programs call the API with it; export it as POSTERN_KEY for the next steps.',
      command: `${postern} keys create first --scope subscribers:write,events:write,events:read`,
      done: facts.key,
    },
    {
      id: 'subscriber',
      title: 'Add a subscriber',
      detail: 'Registers a receiver on this machine for as long as it runs, and prints what arrives.',
      command: `${postern} listen --url ${url} --key "$POSTERN_KEY"`,
      done: facts.subscriber,
    },
    {
      id: 'delivery',
      title: 'Deliver an event',
      detail: 'Emits an event, which is delivered to each subscriber of its type.',
      command: `curl -s -X POST ${url}/events -H "authorization: Bearer $POSTERN_KEY" -H 'content-type: application/json' -d '{"type":"order.shipped","data":{"order":"42"}}'`,
      done: facts.delivery,
    },
    {
      id: 'list',
      title: 'Declare a list',
      detail:
        'Give listing.lists a list() of one of your tables in the configuration module. The command checks it; a restart serves it.',
      command: `${postern} config check`,
      done: declaresLists,
    },
    {
      id: 'provider',
      title: 'Sign in with a real provider',
      detail: `Set the client id and secret of a provider, such as GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, and register the callback ${url}/auth/github/callback there. The command checks them.`,
      command: `${postern} doctor`,
      done: facts.realSignIn,
    },
    {
      id: 'production',
      title: 'Use production settings',
      detail: 'NODE_ENV=production with a BASE_URL of https. The command names what is missing.',
      command: `NODE_ENV=production ${postern} config check`,
      done: !configuration.demo && configuration.production,
    },
  ]
}
