import { useMutation } from '@tanstack/react-query'
import { FlaskConical } from 'lucide-react'
import type { DryRun } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  CodeBlock,
  formatDuration,
  Loading,
  Notice,
  ProblemNotice,
  Section,
  Status,
} from '../../ui/index.ts'
import { ErrorText } from '../failures/error-text.tsx'
import { WrittenTables } from './written-tables.tsx'

/** Runs the handlers of an event in a transaction that is rolled back, and shows what they would have done. */
export function DryRunPanel({ eventId }: { eventId: number | string }) {
  const run = useMutation({
    mutationFn: () => api.post('/events/{id}/dry-run', { params: { id: String(eventId) } }),
  })
  return (
    <Section
      title="Dry run"
      description="Runs the handlers now and rolls back their transaction. Handlers see dryRun: true. Effects outside the transaction, such as requests to other systems, are not undone."
      actions={
        <Button
          icon={<FlaskConical size={16} aria-hidden />}
          busy={run.isPending}
          onClick={() => run.mutate()}
        >
          Dry run
        </Button>
      }
    >
      {run.isPending && <Loading label="Running handlers" />}
      {run.error && <ProblemNotice error={run.error} />}
      {run.data && !run.isPending && <Result done={run.data} />}
    </Section>
  )
}

function Result({ done }: { done: DryRun }) {
  const { outcome, handlers, durationMs, error, tables, emitted, emittedTotal, log, notes, forwardTo } = done
  return (
    <div className="space-y-4" role="region" aria-label="Result of the dry run">
      <p>
        <Status value={outcome} />{' '}
        {handlers.length === 0
          ? 'No handler matches this event.'
          : `${handlers.join(', ')} took ${formatDuration(durationMs)}.`}
      </p>
      {forwardTo !== null && <Notice>The event would be sent to {forwardTo}. Nothing was sent.</Notice>}
      {error !== null && <ErrorText text={error} />}
      {outcome !== 'forwarded' && <WrittenTables tables={tables} />}
      {emittedTotal > 0 && (
        <div>
          <h3 className="mb-1 font-medium">Events it would send: {emittedTotal}</h3>
          {Array.from(emitted.entries(), ([place, event]) => (
            <div key={place} className="mb-2">
              <CodeBlock
                label={`Event ${place + 1}, ${event.type}`}
                code={`${event.type}\n${JSON.stringify(event.data, null, 2)}`}
              />
            </div>
          ))}
        </div>
      )}
      {log.length > 0 && (
        <div>
          <h3 className="mb-1 font-medium">Log</h3>
          <CodeBlock
            label="Log lines"
            code={log
              .map(
                ({ level, message, fields }) => `${level} ${message}${fields === null ? '' : ` ${fields}`}`,
              )
              .join('\n')}
          />
        </div>
      )}
      {notes.map((note) => (
        <p key={note} className="text-sm text-soft">
          {note}
        </p>
      ))}
    </div>
  )
}
