/** A text in which backticks mark code. */
export const WithCode = ({ text }: { text: string }) =>
  text.split('`').map((part, at) =>
    at % 2 === 1 ? (
      <code key={part} className="font-mono text-sm break-words">
        {part}
      </code>
    ) : (
      part
    ),
  )
