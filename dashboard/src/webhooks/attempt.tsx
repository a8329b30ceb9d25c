import { fill, fillNodes, words } from '../language/words.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { asLabel, formatBytes, formatDuration } from '../ui/format.ts'
import { JsonView } from '../ui/json.tsx'
import { Facts, Fact } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import type { AnswerOf } from '../api/answers.ts'
import { httpStatus } from './response-word.ts'

export type DeliveryDetail = AnswerOf<'GET /deliveries/{id}'>
export type Made = DeliveryDetail['attempts'][number]

/** How an attempt ended, as a status. */
export const outcomeOf = ({ error, failure }: Made): 'delivered' | 'cancelled' | 'dead' =>
  failure === 'canceled' ? 'cancelled' : error === null ? 'delivered' : 'dead'

/** The status of the response. A canceled event and a destination other than HTTP have none. */
function Result({ made }: { made: Made }) {
  const outcome = outcomeOf(made)
  if (made.status === null && outcome !== 'dead') return <Status value={outcome} />
  return <Badge tone={outcome === 'dead' ? 'danger' : 'ok'}>{httpStatus(made.status)}</Badge>
}

/** An attempt in one line. */
export const AttemptLine = ({ made }: { made: Made }) => (
  <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-0.5">
    <span className="font-medium">{fill(words.attempt.title, { number: made.number })}</span>
    <Result made={made} />
    <span className="text-sm text-soft">
      <Time value={made.at} /> · {formatDuration(made.durationMs)}
    </span>
  </span>
)

/** One attempt: what happened, how long each part took, and request and response side by side. */
export function Attempt({ delivery, made }: { delivery: DeliveryDetail; made: Made }) {
  return (
    <div>
      {made.error !== null && made.error !== `returned HTTP ${made.status}` && (
        <p className="font-medium text-danger">{asLabel(made.error)}</p>
      )}
      {made.advice !== null && (
        <p className="mt-0.5 mb-2 max-w-prose">{words.advice[made.failure ?? ''] ?? made.advice}</p>
      )}
      {made.phases && <Phases {...made.phases} />}
      <div className="mt-4 grid gap-6 lg:grid-cols-2">
        <Request delivery={delivery} made={made} />
        <Response made={made} />
      </div>
    </div>
  )
}

const phaseLooks = {
  dns: 'bg-info',
  connect: 'bg-warn',
  tls: 'bg-soft',
  // Not green: the attempt may have failed.
  firstByte: 'bg-strong',
  rest: 'bg-line',
} as const

/** How long each part of the attempt took, as a bar and in words. */
function Phases(phases: NonNullable<Made['phases']>) {
  const parts = (['dns', 'connect', 'tls', 'firstByte'] as const).flatMap((part) => {
    const took = phases[part]
    return took === null ? [] : [{ part, name: part === 'tls' ? 'TLS' : words.attempt[part], took }]
  })
  const rest = Math.max(0, phases.total - parts.reduce((sum, { took }) => sum + took, 0))
  const all = [
    ...parts,
    ...(rest >= 0.1 ? [{ part: 'rest' as const, name: words.attempt.rest, took: rest }] : []),
  ]
  return (
    <div>
      <div aria-hidden className="flex h-2 overflow-hidden rounded-full bg-sunken">
        {all.map(({ part, took }) => (
          <span key={part} className={phaseLooks[part]} style={{ flexGrow: took }} />
        ))}
      </div>
      <ul className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {phases.reused && <li className="text-soft">{words.attempt.reused}</li>}
        {all.map(({ part, name, took }) => (
          <li key={part} className="flex items-center gap-1.5">
            <span aria-hidden className={`size-2 rounded-full ${phaseLooks[part]}`} />
            {name} {formatDuration(took)}
          </li>
        ))}
        <li className="text-soft">{fill(words.attempt.total, { duration: formatDuration(phases.total) })}</li>
      </ul>
    </div>
  )
}

function Request({ delivery, made }: { delivery: DeliveryDetail; made: Made }) {
  const headers = Object.entries(made.requestHeaders)
  const body = made.requestBody ?? delivery.payload
  const bytes = made.requestBodyBytes ?? delivery.payloadBytes
  return (
    <section aria-label={words.attempt.request} className="min-w-0">
      <h4 className="mb-2 font-semibold">{words.attempt.request}</h4>
      {made.url === null ? (
        <p className="text-soft">{words.attempt.noRequest}</p>
      ) : (
        <>
          <p className="mb-2 font-mono text-sm break-all">
            {/^https?:/.test(made.url) && `${made.method} `}
            {made.url}
          </p>
          <CodeBlock
            label={words.attempt.requestHeaders}
            maxHeight="max-h-56"
            code={linesOf(headers, made.signature)}
          />
          <p className="mt-1 mb-3 text-sm text-soft">
            {made.signature === null ? words.attempt.signatureHidden : words.attempt.signatureComputed}
          </p>
          {made.transformed && <p className="mb-1 text-sm text-soft">{words.attempt.transformed}</p>}
          <JsonView text={body} label={words.attempt.requestBody} />
          {bytes > 65_536 && (
            <p className="mt-1 text-sm text-soft">
              {fill(words.attempt.cutOff, { size: formatBytes(bytes) })}
            </p>
          )}
        </>
      )}
    </section>
  )
}

function linesOf(headers: [string, string][], signature: string | null): string {
  return headers
    .map(
      ([name, value]) =>
        `${name}: ${/^(webhook|svix)-signature$/.test(name) && signature !== null ? signature : value}`,
    )
    .join('\n')
}

function Response({ made }: { made: Made }) {
  const headers = made.responseHeaders && Object.entries(made.responseHeaders)
  return (
    <section aria-label={words.attempt.response} className="min-w-0">
      <h4 className="mb-2 font-semibold">{words.attempt.response}</h4>
      {made.status === null && outcomeOf(made) !== 'delivered' ? (
        <p className="text-soft">{words.attempt.noResponse}</p>
      ) : (
        <>
          <Facts>
            <Fact name={words.attempt.status}>
              <Result made={made} />
            </Fact>
            <Fact name={words.attempt.received}>
              {fillNodes(words.attempt.receivedAfter, {
                time: <Time value={Date.parse(made.at) + made.durationMs} />,
                duration: formatDuration(made.durationMs),
              })}
            </Fact>
          </Facts>
          {headers && headers.length > 0 && (
            <div className="mt-2">
              <CodeBlock
                label={words.attempt.responseHeaders}
                maxHeight="max-h-56"
                code={linesOf(headers, null)}
              />
            </div>
          )}
          <div className="mt-3">
            {made.responseBody ? (
              <JsonView text={made.responseBody} label={words.attempt.responseBody} />
            ) : (
              <p className="text-soft">{words.attempt.noBody}</p>
            )}
          </div>
        </>
      )}
    </section>
  )
}
