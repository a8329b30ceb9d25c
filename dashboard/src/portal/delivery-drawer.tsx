import { useMutation, useQuery } from '@tanstack/react-query'
import { words } from '../language/words.ts'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyValue } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { JsonView } from '../ui/json.tsx'
import { Loading, ProblemNotice } from '../ui/notices.tsx'
import { Fact, Facts } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { Attempt, AttemptLine } from '../webhooks/attempt.tsx'
import { useRefresh } from '../webhooks/calls.ts'
import { api } from './client.ts'
import { portalWords } from './language/load.ts'

/** A delivery: what was sent, and each attempt with its answer. */
export function DeliveryDrawer({ id, onClose }: { id: string; onClose: () => void }) {
  const refresh = useRefresh()
  const { data, error } = useQuery({
    queryKey: ['delivery', id],
    queryFn: ({ signal }) => api.get('/portal/deliveries/{id}', { params: { id }, signal }),
  })
  const replay = useMutation({
    mutationFn: () => api.post('/portal/deliveries/{id}/replay', { params: { id } }),
    onSuccess: async () => {
      toast(portalWords.queuedAgain)
      await refresh()
    },
  })
  return (
    <Dialog open onClose={onClose} place="drawer" title={data?.eventType ?? portalWords.delivery}>
      {error && <ProblemNotice error={error} />}
      {replay.error && <ProblemNotice error={replay.error} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <div className="mb-4 flex items-center gap-3">
            <Status value={data.status} />
            <Button busy={replay.isPending} onClick={() => replay.mutate()}>
              {data.status === 'pending' ? portalWords.sendNow : portalWords.sendAgain}
            </Button>
          </div>
          <Facts>
            <Fact name={portalWords.eventId}>
              <CopyValue value={data.eventId} label={portalWords.copyEventId} />
            </Fact>
            <Fact name={words.secrets.created}>
              <Time value={data.createdAt} />
            </Fact>
            {data.nextAttemptAt !== null && (
              <Fact name={portalWords.nextAttempt}>
                <Time value={data.nextAttemptAt} />
              </Fact>
            )}
          </Facts>
          {data.attempts.length === 0 && (
            <>
              <h3 className="mt-5 mb-2 font-semibold">{words.ui.payload}</h3>
              <JsonView text={data.payload} />
            </>
          )}
          <h3 className="mt-5 mb-2 font-semibold">{portalWords.attempts}</h3>
          {data.attempts.length === 0 && <p className="text-soft">{portalWords.noAttempts}</p>}
          {data.attempts.toReversed().map((made, at) => (
            <details key={made.number} open={at === 0} className="mb-3 rounded-md border border-line p-3">
              <summary className="cursor-pointer">
                <AttemptLine made={made} />
              </summary>
              <div className="mt-2">
                <Attempt delivery={data} made={made} />
              </div>
            </details>
          ))}
        </>
      )}
    </Dialog>
  )
}
