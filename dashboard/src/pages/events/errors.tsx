import { CodeBlock, formatDuration, Time } from '../../ui/index.ts'
import { groupFailures, readError, type Failure } from './stack-frames.ts'

/** The errors of an event's attempts, the newest first and each once, with the frames of the user's own code. */
export function Errors({ failures }: { failures: readonly Failure[] }) {
  return groupFailures(failures).map(({ text, failures }) => (
    <OneError key={text} text={text} failures={failures} />
  ))
}

function OneError({ text, failures }: { text: string; failures: readonly Failure[] }) {
  const { message, own, others, rest } = readError(text)
  const last = failures.at(-1)!
  const attempts = failures.map(({ number }) => number)
  return (
    <div className="mb-3 rounded-md border-l-4 border-danger bg-danger-tint px-3 py-2">
      <p className="font-mono text-sm font-medium break-words whitespace-pre-wrap">{message}</p>
      {own.length > 0 && (
        <ul aria-label="Frames of your code" className="mt-1.5 font-mono text-sm break-words">
          {own.slice(0, 8).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <p className="mt-1.5 text-sm">
        Attempt{attempts.length > 1 ? 's' : ''} {attempts.slice(-10).join(', ')}, last{' '}
        <Time value={last.at} />, after {formatDuration(last.durationMs)}
      </p>
      {(others.length > 0 || rest !== '') && (
        <details className="mt-1">
          <summary className="min-h-6 cursor-pointer text-sm">Full error</summary>
          <CodeBlock code={text} label="Error" />
        </details>
      )}
    </div>
  )
}
