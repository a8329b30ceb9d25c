import { seldomChanges } from '../../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { CodeBlock, Notice, ReadState, Section, Tabs } from '../../ui/index.ts'
import type { Subscriber } from './types.ts'

const route = getRouteApi('/subscribers/$id')

/** Complete receivers for this subscriber's address. */
export function CodeTab({ subscriber: { id, url } }: { subscriber: Subscriber }) {
  const { language } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({
    queryKey: ['subscribers', 'verification', id, url],
    queryFn: ({ signal }) => api.get('/subscribers/{id}/verification', { params: { id }, signal }),
    ...seldomChanges,
  })
  if (!query.data) return <ReadState {...query} />
  const { data } = query
  return (
    <Section
      title="Code that verifies signatures"
      description="Complete receivers without a library. They check the raw body in constant time, refuse old requests, and accept any of several signatures, which there are while a secret is replaced."
    >
      {data.signing === 'v1a' && (
        <Notice tone="warn">
          This subscriber is signed with v1a only. The code verifies v1: set “Signatures” to v1 or both in the
          settings.
        </Notice>
      )}
      <Tabs
        label="Language"
        value={language ?? 'typescript'}
        onChange={(next) =>
          void navigate({ search: (before) => ({ ...before, language: next }), replace: true })
        }
        tabs={data.languages.map((one) => ({
          value: one.id,
          label: one.name,
          content: (
            <>
              <p className="mb-2 font-mono text-sm text-soft">{one.file}</p>
              <CodeBlock code={one.code} label={`Code in ${one.name}`} maxHeight="max-h-[40rem]" />
            </>
          ),
        }))}
      />
    </Section>
  )
}
