import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  CopyValue,
  Fact,
  Facts,
  Notice,
  ProblemNotice,
  Section,
  SelectField,
  Time,
  toast,
  useConfirm,
} from '../../ui/index.ts'

const lasting = [
  { value: '300', label: '5 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
]
const sessions = [
  { value: '3600', label: '1 hour' },
  { value: '28800', label: '8 hours' },
  { value: '86400', label: '24 hours' },
]

interface Access {
  owner: string
  linkExpiresAt: string | null
  sessionExpiresAt: string | null
}

/** Links to the portal: made, copied, and revoked with all sessions. */
export function PortalAccess({ owner, linkExpiresAt, sessionExpiresAt }: Access) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const [expiresIn, setExpiresIn] = useState('3600')
  const [sessionSeconds, setSessionSeconds] = useState('3600')
  const refresh = () => client.invalidateQueries({ queryKey: ['subscribers'] })
  const make = useMutation({
    mutationFn: () =>
      api.post('/portal-links', {
        body: { owner, expiresIn: Number(expiresIn), sessionSeconds: Number(sessionSeconds) },
      }),
    onSuccess: refresh,
  })
  const revoke = useMutation({
    mutationFn: () => api.delete('/portal-links', { query: { owner } }),
    onSuccess: async () => {
      make.reset()
      toast('Portal access revoked')
      await refresh()
    },
  })
  const ask = async (): Promise<void> => {
    const consequence = `All portal links of ${owner} stop working, and everyone in its portal is signed out. Its endpoints keep working.`
    if (await confirm({ title: 'Revoke portal access?', consequence, action: 'Revoke' })) revoke.mutate()
  }
  const error = make.error ?? revoke.error
  return (
    <Section
      title="Portal access"
      description="A link opens this customer's portal once. Send it over a channel that only the customer reads."
    >
      {make.data && (
        <Notice tone="warn">
          <p className="mb-1 font-medium">Copy the link now. It won't be shown again.</p>
          <CopyValue value={make.data.url} label="Copy the link" />
          <p className="mt-1 text-sm">
            It expires at <Time value={make.data.expiresAt} />.
          </p>
        </Notice>
      )}
      <Facts>
        <Fact name="Unopened link">
          {linkExpiresAt === null ? (
            'none'
          ) : (
            <>
              valid until <Time value={linkExpiresAt} />
            </>
          )}
        </Fact>
        <Fact name="Session">
          {sessionExpiresAt === null ? (
            'none'
          ) : (
            <>
              open until <Time value={sessionExpiresAt} />
            </>
          )}
        </Fact>
      </Facts>
      <div className="mt-4 grid max-w-xl gap-4 sm:grid-cols-2">
        <SelectField
          label="Link expires after"
          options={lasting}
          value={expiresIn}
          onChange={({ target }) => setExpiresIn(target.value)}
        />
        <SelectField
          label="Session lasts"
          options={sessions}
          value={sessionSeconds}
          onChange={({ target }) => setSessionSeconds(target.value)}
        />
      </div>
      {error && (
        <div className="mt-3">
          <ProblemNotice error={error} />
        </div>
      )}
      <div className="mt-4 flex flex-wrap gap-2">
        <Button kind="primary" busy={make.isPending} onClick={() => make.mutate()}>
          Create link
        </Button>
        <Button
          kind="danger"
          busy={revoke.isPending}
          disabled={linkExpiresAt === null && sessionExpiresAt === null}
          onClick={() => void ask()}
        >
          Revoke access
        </Button>
      </div>
    </Section>
  )
}
