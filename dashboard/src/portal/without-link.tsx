import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/notices.tsx'
import { askForLink, canAskForLink } from './embedding.ts'

/** A page that no link opened, or whose session is over. */
export function WithoutLink() {
  return (
    <>
      <h1 className="text-xl font-semibold">Webhooks</h1>
      <Empty
        title="This page opens by a link"
        action={
          canAskForLink && (
            <Button kind="primary" onClick={askForLink}>
              Continue
            </Button>
          )
        }
      >
        <p>
          Here you manage where your events are sent. The link comes from the application that sends them: it
          works once, and for a short time.
        </p>
        <p className="mt-2">
          {canAskForLink
            ? 'Your session has ended.'
            : 'Go back to that application and open the webhooks again: ask for a new link.'}
        </p>
      </Empty>
    </>
  )
}
