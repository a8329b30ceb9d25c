import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { AppDetail, RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  Ago,
  DataTable,
  Empty,
  ProblemNotice,
  Section,
  Time,
  toast,
  useConfirm,
  type Column,
  actionColumn,
} from '../../ui/index.ts'

type SignIn = RowOf<'GET /clients/{id}/sign-ins'>

const nameOf = ({ name, email, userId }: SignIn): string => name ?? email ?? userId

/** Who is signed in to the app. Each sign-in can be ended with its tokens. */
export function AppSignIns({ app }: { app: AppDetail }) {
  const { id } = app
  const ask = useConfirm()
  const client = useQueryClient()
  const signIns = usePages({
    key: ['apps', id, 'sign-ins'],
    read: (cursor, signal) =>
      api.get('/clients/{id}/sign-ins', { params: { id }, query: { limit: 50, cursor }, signal }),
    idOf: (signIn) => signIn.id,
  })
  const end = useMutation({
    mutationFn: (signIn: SignIn) =>
      api.delete('/clients/{id}/sign-ins/{signInId}', { params: { id, signInId: signIn.id } }),
    onSuccess: async (_answer, signIn) => {
      toast(`Signed ${nameOf(signIn)} out of ${app.name}`)
      await client.invalidateQueries({ queryKey: ['apps', id] })
    },
  })
  const onEnd = async (signIn: SignIn): Promise<void> => {
    const yes = await ask({
      title: `Sign ${nameOf(signIn)} out of ${app.name}?`,
      consequence: 'This sign-in’s tokens stop working immediately. Other apps stay signed in.',
      action: 'Sign out',
    })
    if (yes) end.mutate(signIn)
  }
  const error = signIns.error ?? end.error
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section flush>
        <DataTable
          label="Sign-ins"
          columns={columnsFor((signIn) => void onEnd(signIn))}
          rows={signIns.rows}
          rowKey={(signIn) => signIn.id}
          loading={signIns.loading}
          error={signIns.error}
          onMore={signIns.onMore}
          loadingMore={signIns.loadingMore}
          empty={
            <Empty title="No sign-ins">
              A sign-in appears here after the app has exchanged its code for tokens.
            </Empty>
          }
        />
      </Section>
    </>
  )
}

const columnsFor = (onEnd: (signIn: SignIn) => void): Column<SignIn>[] => [
  {
    key: 'user',
    header: 'User',
    cell: (signIn) => (
      <Link to="/users/$id" params={{ id: signIn.userId }} className="font-medium hover:underline">
        {nameOf(signIn)}
      </Link>
    ),
  },
  { key: 'device', header: 'Device', phone: 'secondary', cell: ({ device }) => device },
  {
    key: 'scopes',
    header: 'Scopes',
    phone: 'hidden',
    cell: ({ scopes }) => <span className="whitespace-normal">{scopes.join(' ')}</span>,
  },
  { key: 'since', header: 'Signed in', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'seen',
    header: 'Last used',
    phone: 'secondary',
    width: '10.5rem',
    cell: ({ lastSeenAt }) => <Ago value={lastSeenAt} />,
  },
  actionColumn({ action: 'Sign out', nameOf, onAction: onEnd }),
]
