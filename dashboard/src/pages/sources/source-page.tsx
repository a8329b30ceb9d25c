import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Source } from '../../api/answers.ts'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  Ago,
  CopyValue,
  Fact,
  Facts,
  formatNumber,
  formatPercent,
  Page,
  ReadState,
  Section,
  Tabs,
} from '../../ui/index.ts'
import { RefusedTab } from './refused-tab.tsx'
import { SampleTab } from './sample-tab.tsx'
import { SourceEvents } from './source-events.tsx'

const route = getRouteApi('/sources/$name')

/** One source: where its sender is set up, what arrived, what was refused and why. */
export function SourcePage() {
  const { name } = route.useParams()
  const { tab = 'set-up' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({
    queryKey: ['sources', name],
    queryFn: ({ signal }) => api.get('/sources/{name}', { params: { name }, signal }),
  })
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!query.data)
    return (
      <Page title={name}>
        <ReadState {...query} />
      </Page>
    )
  const source = query.data
  const tabs = [
    { value: 'set-up', label: 'Set up', content: <SetUp source={source} /> },
    { value: 'events', label: 'Events', content: <SourceEvents source={name} /> },
    {
      value: 'refused',
      label: `Refused (${formatNumber(source.day.refused)})`,
      content: <RefusedTab source={source} />,
    },
    { value: 'sample', label: 'Send a signed sample', content: <SampleTab source={source} /> },
  ]
  return (
    <Page title={name} description={`${source.label}, verified by the scheme ${source.scheme}`}>
      <ReadState {...query} />
      <Section>
        <Facts>
          <Fact name="URL to register">
            <CopyValue value={source.url} label="Copy the URL" />
          </Fact>
          <Fact name="Last event">
            <Ago value={source.lastEventAt} />
          </Fact>
          <Fact name="Last 24 hours">{daySentence(source)}</Fact>
          {source.forwardTo !== null && <Fact name="Forwarded to">{source.forwardTo}</Fact>}
          {source.rateLimit !== null && <Fact name="Rate limit">{source.rateLimit} events a second</Fact>}
        </Facts>
      </Section>
      <Tabs
        label="About this source"
        tabs={tabs}
        value={tab}
        onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }) })}
      />
    </Page>
  )
}

function daySentence({ day: { accepted, duplicates, refused } }: Source): string {
  const all = accepted + refused
  if (all === 0) return 'No webhook arrived.'
  return `${formatNumber(accepted)} accepted (${formatPercent(accepted / all)}), ${formatNumber(duplicates)} of them repeated; ${formatNumber(refused)} refused`
}

function SetUp({ source }: { source: Source }) {
  return (
    <Section title="At the sender">
      <ol className="list-decimal space-y-1.5 pl-5">
        {source.steps.map((step) => (
          <li key={step}>
            {step.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
          </li>
        ))}
      </ol>
      <p className="mt-3">
        {source.hasSecret ? 'A secret is set. ' : 'No secret is set. '}
        {source.answersChallenges && 'Postern answers the sender’s check of the URL. '}
        {source.docs !== null && (
          <a href={source.docs} target="_blank" rel="noreferrer" className="text-accent underline">
            Documentation of this scheme
          </a>
        )}
      </p>
    </Section>
  )
}
