import { CodeBlock } from '../../ui/index.ts'

/** Frames of Node, of packages, and of the service itself. */
const foreign = /node:|[\\/]node_modules[\\/]|[\\/]src[\\/](?:receiving|storage|runtime)[\\/]/

/** An error with the frames of the user's own code; the whole text is folded. */
export function ErrorText({ text }: { text: string }) {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => /^\s+at /.test(line))
  const message = first === -1 ? text : lines.slice(0, first).join('\n')
  const own =
    first === -1 ? [] : lines.slice(first).filter((line) => /^\s+at /.test(line) && !foreign.test(line))
  return (
    <div className="rounded-md border-l-4 border-danger bg-danger-tint px-3 py-2">
      <p className="font-mono text-sm font-medium break-words whitespace-pre-wrap">{message}</p>
      {own.length > 0 && (
        <ul aria-label="Frames of your code" className="mt-1.5 font-mono text-sm break-all">
          {[...new Set(own)].slice(0, 8).map((line) => (
            <li key={line}>{line.trim()}</li>
          ))}
        </ul>
      )}
      {first !== -1 && (
        <details className="mt-1">
          <summary className="min-h-6 cursor-pointer text-sm">Full error</summary>
          <CodeBlock code={text} label="Error" />
        </details>
      )}
    </div>
  )
}
