import { Type, type Static } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { readChoice } from '../../paging/filter-parameters.ts'
import type { App } from '../app.ts'
import { closedObject, DateTime, nullable, optionalText } from '../schemas/schemas.ts'

const Finding = closedObject({
  check: Type.String(),
  state: Type.Enum(['ok', 'warning', 'fault']),
  about: Type.String(),
  text: Type.String(),
  advice: nullable(Type.String(), 'What to do'),
})
const Diagnosis = closedObject({
  checks: Type.Array(Type.String(), { description: 'All checks, in the order in which they run' }),
  startedAt: DateTime,
  endedAt: DateTime,
  faults: Type.Integer(),
  warnings: Type.Integer(),
  findings: Type.Array(Finding),
})

/** The checks of `postern doctor`, which service-app.ts passes in. */
export interface Checks {
  names: readonly string[]
  /** Runs one of `names`. */
  run: (
    check: string,
  ) => Promise<{ state: 'ok' | 'warning' | 'fault'; about: string; text: string; advice?: string }[]>
}

/** Calls of one address in a minute: a page runs the checks one by one. */
const callsPerMinute = 60

/** GET /diagnostics: runs the checks now. */
export function diagnosticsRoute(app: App, { names, run }: Checks, clock: Clock): void {
  app.get(
    '/diagnostics',
    {
      config: { access: { scope: 'admin' }, rateLimit: { max: callsPerMinute } },
      schema: {
        tags: ['operations'],
        summary: 'Run the checks of `postern doctor` in this process',
        description:
          'Each check takes eight seconds at most. One check runs at a time; concurrent calls share its result.',
        querystring: Type.Object({ check: optionalText(`Only this check: ${names.join(', ')}`) }),
        response: { 200: Diagnosis },
      },
    },
    async ({ query }) => {
      const chosen = query.check ? [readChoice(query.check, 'check', names)] : names
      const startedAt = isoTime(clock.now())
      const findings: Static<typeof Finding>[] = []
      for (const check of chosen)
        for (const { advice = null, ...finding } of await run(check))
          findings.push({ check, ...finding, advice })
      const count = (state: string): number => findings.filter((finding) => finding.state === state).length
      return {
        checks: [...names],
        startedAt,
        endedAt: isoTime(clock.now()),
        faults: count('fault'),
        warnings: count('warning'),
        findings,
      }
    },
  )
}
