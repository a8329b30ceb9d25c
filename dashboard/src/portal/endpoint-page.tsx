import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import { fill, fillNodes, words } from '../language/words.ts'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { Notice, ProblemNotice, ReadState } from '../ui/notices.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Time } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { api, type SubscriberDetail } from './client.ts'
import { Deliveries } from './deliveries.tsx'
import { EndpointForm } from './endpoint-form.tsx'
import { portalWords } from './language/load.ts'
import { Overview } from './overview.tsx'
import { goTo, usePlace } from './place.ts'
import { Replays } from '../webhooks/replays.tsx'
import { Transformation } from '../webhooks/transformation.tsx'
import { Secrets } from '../webhooks/secrets.tsx'
import { VerificationCode } from '../webhooks/verification-code.tsx'

/** One endpoint: how it is, its deliveries, settings, secrets, and the code that verifies them. */
export function EndpointPage({ id }: { id: string }) {
  const { tab = 'deliveries' } = usePlace()
  const query = useQuery({
    queryKey: ['endpoint', id],
    queryFn: ({ signal }) => api.get('/portal/subscribers/{id}', { params: { id }, signal }),
  })
  const { data } = query
  const back = (
    <Button small kind="quiet" icon={<ArrowLeft size={16} aria-hidden />} onClick={() => goTo({})}>
      {portalWords.allEndpoints}
    </Button>
  )
  if (!data)
    return (
      <>
        {back}
        <ReadState {...query} />
      </>
    )
  return (
    <>
      {back}
      <ReadState {...query} />
      <Head endpoint={data} />
      <Tabs
        label={portalWords.endpoint}
        value={tab}
        onChange={(next) => goTo({ endpoint: id, tab: next })}
        tabs={[
          { value: 'deliveries', label: words.replays.deliveries, content: <Deliveries endpoint={id} /> },
          { value: 'overview', label: portalWords.overview, content: <Overview endpoint={data} /> },
          { value: 'replays', label: words.replays.list, content: <Replays id={id} /> },
          {
            value: 'transformation',
            label: words.transformation.title,
            content: <Transformation subscriber={data} />,
          },
          { value: 'secrets', label: portalWords.secrets, content: <Secrets subscriber={data} /> },
          {
            value: 'verification',
            label: portalWords.verificationCode,
            content: <VerificationCode subscriber={data} />,
          },
        ]}
      />
    </>
  )
}

function Head({ endpoint }: { endpoint: SubscriberDetail }) {
  const { id, url, description, state, status, failingSince, disablesAt, disabledReason } = endpoint
  const [changing, setChanging] = useState(false)
  const queries = useQueryClient()
  const confirm = useConfirm()
  const refresh = (): Promise<void> =>
    queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  const test = useMutation({
    mutationFn: () => api.post('/portal/subscribers/{id}/test', { params: { id } }),
    onSuccess: async () => {
      toast(portalWords.testSent)
      goTo({ endpoint: id, tab: 'deliveries' })
      await refresh()
    },
  })
  const turn = useMutation({
    mutationFn: (next: 'active' | 'paused') =>
      api.patch('/portal/subscribers/{id}', { params: { id }, body: { status: next } }),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => api.delete('/portal/subscribers/{id}', { params: { id } }),
    onSuccess: async () => {
      goTo({})
      toast(portalWords.deleted)
      await queries.invalidateQueries({ queryKey: ['endpoints'] })
    },
  })
  const askAndRemove = async (): Promise<void> => {
    const sure = await confirm({
      title: portalWords.deleteTitle,
      consequence: fill(portalWords.deleteConsequence, { url }),
      action: portalWords.delete,
    })
    if (sure) remove.mutate()
  }
  const problem = test.error ?? turn.error ?? remove.error
  return (
    <>
      <div className="mt-2 mb-4 flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="flex flex-wrap items-center gap-x-3 text-xl font-semibold">
            <span className="min-w-0 break-all">{description ?? url}</span> <Status value={state} />
          </h1>
          {description !== null && <p className="break-all text-soft">{url}</p>}
        </div>
        <div className="flex flex-wrap gap-2">
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            {portalWords.sendTest}
          </Button>
          <Button onClick={() => setChanging(true)}>{portalWords.edit}</Button>
          <Button
            busy={turn.isPending}
            onClick={() => turn.mutate(status === 'active' ? 'paused' : 'active')}
          >
            {status === 'active' ? portalWords.pause : portalWords.resume}
          </Button>
          <Button kind="danger" busy={remove.isPending} onClick={() => void askAndRemove()}>
            {portalWords.delete}
          </Button>
        </div>
      </div>
      {problem && <ProblemNotice error={problem} />}
      {disabledReason !== null && (
        <Notice tone="warn">{fill(portalWords.disabled, { reason: disabledReason })}</Notice>
      )}
      {failingSince !== null && (
        <Notice tone="warn">
          {fillNodes(disablesAt === null ? portalWords.failing : portalWords.failingUntil, {
            since: <Time value={failingSince} />,
            end: <Time value={disablesAt} />,
          })}
        </Notice>
      )}
      {changing && (
        <EndpointForm
          endpoint={endpoint}
          onClose={() => setChanging(false)}
          onSaved={() => {
            setChanging(false)
            toast(words.ui.saved)
          }}
        />
      )}
    </>
  )
}
