import { ButtonLink, Dialog, JsonView, Loading, ProblemNotice, Status, Time } from '../../ui/index.ts'
import { Errors } from './errors.tsx'
import { RunNowButton, useRunNow } from './run-now.tsx'
import { canRun, useEvent } from './use-event.ts'

/** A preview of an event beside the list. */
export function Peek({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error } = useEvent(id)
  const run = useRunNow(id)
  return (
    <Dialog
      open
      onClose={onClose}
      title={data?.event.type ?? 'Event'}
      description={data?.event.eventId}
      place="drawer"
    >
      {error && <ProblemNotice error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <div className="flex flex-col gap-4">
          <div className="flex flex-wrap items-center gap-3">
            <Status value={data.event.status} />
            <span className="text-soft">{data.event.source ?? 'sent'}</span>
            <Time value={data.event.createdAt} />
          </div>
          <div className="flex flex-wrap gap-2">
            {canRun(data.event) && <RunNowButton run={run} />}
            <ButtonLink to="/events/$id" params={{ id }}>
              Open event
            </ButtonLink>
          </div>
          {run.error && <ProblemNotice error={run.error} />}
          <Errors failures={data.event.processing?.failures ?? []} />
          <JsonView text={data.payload ?? data.event.payloadBase64 ?? ''} />
        </div>
      )}
    </Dialog>
  )
}
