import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/notices.tsx'
import { askForLink, canAskForLink } from './embedding.ts'

/** A page that no link opened, or whose link or session is over. */
export function WithoutLink({ hadLink }: { hadLink: boolean }) {
  return (
    <>
      <h1 className="text-xl font-semibold">Webhooks</h1>
      <Empty
        title={
          canAskForLink
            ? 'Your session has ended'
            : hadLink
              ? 'This link is no longer valid'
              : 'You are not signed in'
        }
        action={
          canAskForLink && (
            <Button kind="primary" onClick={askForLink}>
              Continue
            </Button>
          )
        }
      >
        {!canAskForLink &&
          (hadLink
            ? 'This link has expired or was already used. Open the webhooks page of the application again.'
            : 'Open this page from the webhooks page of your application.')}
      </Empty>
    </>
  )
}
