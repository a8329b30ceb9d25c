import { CodeBlock, Dialog } from '../../ui/index.ts'

const code = `// postern.config.ts
import { defineConfig } from 'postern'

export default defineConfig({
  receiving: {
    handlers: {
      // An event type, a pattern such as 'order.*', or '*' for all.
      'order.paid': async (event, { tx, emit, log }) => {
        log.info({ id: event.id }, 'paid')
      },
    },
  },
})`

/** Handlers are code, so this shows where it goes. */
export function AddHandlerDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title="Add handler"
      description="A handler is a function in your project. It runs once for each event of its type."
    >
      <ol className="list-decimal space-y-3 pl-5">
        <li>
          <p className="mb-1">
            No project yet? Create one in a folder next to this checkout. It has a configuration, a handler
            and a test.
          </p>
          <CodeBlock code="npm run -s postern -- init ../shop" label="Create a project" />
        </li>
        <li>
          <p className="mb-1">
            Add the function to <code className="font-mono text-sm">receiving.handlers</code> in{' '}
            <code className="font-mono text-sm">postern.config.ts</code>.
          </p>
          <CodeBlock code={code} label="Handler" />
        </li>
        <li>
          Restart the service, or let <code className="font-mono text-sm">npm run dev</code> do it, then send
          an event of this type. The handler appears in the list.
        </li>
      </ol>
    </Dialog>
  )
}
