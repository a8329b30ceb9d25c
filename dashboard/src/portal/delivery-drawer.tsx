import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Badge, Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { CopyValue } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { writeHeaders } from '../ui/header-lines.ts'
import { JsonView } from '../ui/json.tsx'
import { Loading, ProblemNotice } from '../ui/notices.tsx'
import { Fact, Facts } from '../ui/page.tsx'
import { formatDuration } from '../ui/format.ts'
import { Time } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { api, type DeliveryDetail } from './client.ts'

/** A delivery: what was sent, and each attempt with its answer. */
export function DeliveryDrawer({ id, onClose }: { id: string; onClose: () => void }) {
  const queries = useQueryClient()
  const { data, error } = useQuery({
    queryKey: ['delivery', id],
    queryFn: ({ signal }) => api.get('/portal/deliveries/{id}', { params: { id }, signal }),
  })
  const replay = useMutation({
    mutationFn: () => api.post('/portal/deliveries/{id}/replay', { params: { id } }),
    onSuccess: async () => {
      toast('It is sent again')
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    },
  })
  return (
    <Dialog open onClose={onClose} place="drawer" title={data?.eventType ?? 'Delivery'}>
      {error && <ProblemNotice error={error} />}
      {replay.error && <ProblemNotice error={replay.error} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <div className="mb-4 flex items-center gap-3">
            <Status value={data.status} />
            <Button busy={replay.isPending} onClick={() => replay.mutate()}>
              {data.status === 'pending' ? 'Send now' : 'Send again'}
            </Button>
          </div>
          <Facts>
            <Fact name="Event id">
              <CopyValue value={data.eventId} label="Copy the event id" />
            </Fact>
            <Fact name="Created">
              <Time value={data.createdAt} />
            </Fact>
            {data.nextAttemptAt !== null && (
              <Fact name="Next attempt">
                <Time value={data.nextAttemptAt} />
              </Fact>
            )}
          </Facts>
          <h3 className="mt-5 mb-2 font-semibold">Payload</h3>
          <JsonView text={data.payload} />
          <h3 className="mt-5 mb-2 font-semibold">Attempts</h3>
          {data.attempts.length === 0 && <p className="text-soft">None yet.</p>}
          {data.attempts.toReversed().map((attempt) => (
            <AttemptCard key={attempt.number} {...attempt} />
          ))}
        </>
      )}
    </Dialog>
  )
}

function AttemptCard(attempt: DeliveryDetail['attempts'][number]) {
  const { number, at, status, durationMs, error, advice, requestHeaders, responseHeaders, responseBody } =
    attempt
  const good = status !== null && status >= 200 && status < 300
  return (
    <article className="mb-3 rounded-md border border-line p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h4 className="font-medium">Attempt {number}</h4>
        <Badge tone={good ? 'ok' : 'danger'}>{status ?? 'no answer'}</Badge>
        <span className="text-sm text-soft">
          <Time value={at} />, {formatDuration(durationMs)}
        </span>
      </div>
      {error !== null && <p className="mt-1 break-words">{error}</p>}
      {advice !== null && <p className="mt-1 text-sm text-soft">{advice}</p>}
      <Part title="Request headers" text={writeHeaders(requestHeaders)} />
      {responseHeaders && <Part title="Response headers" text={writeHeaders(responseHeaders)} />}
      {responseBody && <Part title="Response body" text={responseBody} />}
    </article>
  )
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <details className="mt-2">
      <summary className="min-h-6 cursor-pointer text-sm text-soft">{title}</summary>
      <CodeBlock code={text} label={title} />
    </details>
  )
}
