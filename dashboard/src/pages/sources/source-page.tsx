import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
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
  WithCode,
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
      <Page title={name} up={<Link to="/sources">Sources</Link>}>
        <ReadState {...query} />
      </Page>
    )
  const source = query.data
  const tabs = [
    { value: 'set-up', label: 'Set up', content: <SetUp source={source} /> },
    { value: 'events', label: 'Events', content: <SourceEvents source={name} /> },
    {
      value: 'refused',
      label: `Rejected (${formatNumber(source.day.refused)})`,
      content: <RefusedTab source={source} />,
    },
    { value: 'sample', label: 'Send sample', content: <SampleTab source={source} /> },
  ]
  return (
    <Page
      title={name}
      up={<Link to="/sources">Sources</Link>}
      description={`${source.label}, verified with the scheme ${source.scheme}`}
    >
      <ReadState {...query} />
      <Section>
        <Facts>
          <Fact name="Webhook URL">
            <CopyValue value={source.url} label="Copy the URL" />
          </Fact>
          <Fact name="Last event">
            <Ago value={source.lastEventAt} />
          </Fact>
          <Fact name="Last 24 hours">{daySentence(source)}</Fact>
          {source.weakness !== null && <Fact name="Weakness">{source.weakness}</Fact>}
          {source.forwardTo !== null && <Fact name="Forwarded to">{source.forwardTo}</Fact>}
          {source.rateLimit !== null && <Fact name="Rate limit">{source.rateLimit} events per second</Fact>}
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

function daySentence({ day: { accepted, duplicates, dropped, refused } }: Source): string {
  const all = accepted + refused + dropped
  if (all === 0) return 'No webhooks'
  return `${formatNumber(accepted)} accepted (${formatPercent(accepted / all)}), including ${formatNumber(duplicates)} duplicates; ${formatNumber(refused)} rejected${dropped === 0 ? '' : `, ${formatNumber(dropped)} dropped by its filter`}`
}

function SetUp({ source }: { source: Source }) {
  return (
    <Section title="At the sender">
      <ol className="list-decimal space-y-1.5 pl-5">
        {source.steps.map((step) => (
          <li key={step}>
            <WithCode text={step} />
          </li>
        ))}
      </ol>
      <p className="mt-3">
        {source.hasSecret ? 'The secret is set. ' : 'No secret is set, so all webhooks are rejected. '}
        {source.answersChallenges && 'Postern answers the sender’s URL verification. '}
        {source.docs !== null && (
          <a href={source.docs} target="_blank" rel="noreferrer">
            Documentation of this scheme
          </a>
        )}
      </p>
    </Section>
  )
}
