import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { addressOf, api, isProblem } from '../../api/client.ts'
import { Button, ProblemNotice, Section, toast, useConfirm } from '../../ui/index.ts'
import { IdentitiesTable, nameOfIdentity, type Identity } from './identities-table.tsx'

/** The identities that the person can sign in with: link further ones, unlink all but the last. */
export function OwnIdentities() {
  const ask = useConfirm()
  const client = useQueryClient()
  const identities = useQuery({
    queryKey: ['account', 'identities'],
    queryFn: ({ signal }) => api.get('/auth/identities', { signal }),
  })
  const unlink = useMutation({
    mutationFn: ({ provider, providerId }: Identity) =>
      api.delete('/auth/identities/{provider}', { params: { provider }, query: { providerId } }),
    onSuccess: async (_answer, identity) => {
      toast(`${nameOfIdentity(identity)} of ${identity.provider} is unlinked`)
      await client.invalidateQueries({ queryKey: ['account'] })
    },
  })
  const onUnlink = async (identity: Identity): Promise<void> => {
    const name = nameOfIdentity(identity)
    const yes = await ask({
      title: `Unlink ${name} of ${identity.provider}?`,
      consequence: `You can then no longer sign in to this account with this identity of ${identity.provider}. Sessions that began with ${identity.provider} end, except this one.`,
      action: 'Unlink',
    })
    if (yes) unlink.mutate(identity)
  }
  // The page of sign-in explains this one.
  const refused =
    unlink.error && !isProblem(unlink.error, 'reauthentication-needed') ? unlink.error : undefined
  const error = identities.error ?? refused
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section flush title="How you sign in" description="One of these must stay.">
        <IdentitiesTable
          identities={identities.data?.data ?? []}
          loading={identities.isPending}
          onUnlink={(identity) => void onUnlink(identity)}
        />
      </Section>
      <LinkForms />
    </>
  )
}

/** Forms instead of calls: they lead to the provider, or to /login if the sign-in was too long ago. */
function LinkForms() {
  const providers = useQuery({
    queryKey: ['account', 'providers'],
    queryFn: ({ signal }) => api.get('/auth/providers', { signal }),
  })
  if (!providers.data) return null
  return (
    <Section
      title="Link another identity"
      description="You go to the provider and come back. From then on you can sign in with either."
    >
      <div className="flex flex-wrap gap-2">
        {providers.data.data.map(({ name, label }) => (
          <form key={name} method="post" action={linkAddress(name)}>
            <Button type="submit">Link {label}</Button>
          </form>
        ))}
      </div>
    </Section>
  )
}

function linkAddress(provider: string): string {
  const query = new URLSearchParams({ return_to: location.pathname + location.search })
  return addressOf(`/auth/${encodeURIComponent(provider)}/link?${query.toString()}`)
}
