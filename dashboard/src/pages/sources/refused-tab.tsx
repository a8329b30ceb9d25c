import { useQuery } from '@tanstack/react-query'
import type { Source } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { CodeBlock, Empty, formatNumber, ProblemNotice, Section, Time, WithCode } from '../../ui/index.ts'

/** Why webhooks were rejected, and the latest of them. */
export function RefusedTab({ source }: { source: Source }) {
  const { name, refusals } = source
  const latest = useQuery({
    queryKey: ['rejected-webhooks', name],
    queryFn: ({ signal }) => api.get('/rejected-webhooks', { query: { source: name, limit: 20 }, signal }),
  })
  return (
    <>
      {refusals.length > 0 && (
        <Section title="Reasons, last 24 hours">
          <ul className="space-y-3">
            {refusals.map(({ reason, meaning, advice, count }) => (
              <li key={reason}>
                <p className="font-medium">
                  {formatNumber(count)} × {meaning}
                </p>
                <p className="text-soft">
                  <WithCode text={advice} />
                </p>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {latest.error && <ProblemNotice error={latest.error} retry={() => void latest.refetch()} />}
      <Section title="Latest rejected webhooks">
        {latest.data?.data.length === 0 && (
          <Empty title="No rejected webhooks">
            A rejected webhook appears here with the reason, its headers and the start of its body.
          </Empty>
        )}
        {latest.data?.data.map((one) => (
          <details key={one.id} className="border-b border-line py-2 last:border-b-0">
            <summary className="min-h-6 cursor-pointer">
              <Time value={one.at} /> · {one.meaning}
            </summary>
            <p className="mt-2">{one.detail}</p>
            <p className="my-2 text-soft">
              <WithCode text={one.advice} /> {one.address !== null && `Sent from ${one.address}.`}
            </p>
            <CodeBlock
              label="Headers"
              code={Object.entries(one.headers)
                .map(([key, value]) => `${key}: ${value}`)
                .join('\n')}
            />
            {one.body !== undefined && one.body !== '' && (
              <div className="mt-2">
                <CodeBlock label="Body" code={one.body} />
              </div>
            )}
          </details>
        ))}
      </Section>
    </>
  )
}
