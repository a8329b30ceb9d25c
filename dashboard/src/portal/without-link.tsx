import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/notices.tsx'
import { askForLink, canAskForLink } from './embedding.ts'
import { portalWords } from './language/load.ts'

/** A page that no link opened, or whose link or session is over. */
export function WithoutLink({ hadLink }: { hadLink: boolean }) {
  return (
    <>
      <h1 className="text-xl font-semibold">{portalWords.title}</h1>
      <Empty
        title={canAskForLink ? portalWords.ended : hadLink ? portalWords.linkInvalid : portalWords.signedOut}
        action={
          canAskForLink && (
            <Button kind="primary" onClick={askForLink}>
              {portalWords.continue}
            </Button>
          )
        }
      >
        {!canAskForLink && (hadLink ? portalWords.linkInvalidHint : portalWords.signedOutHint)}
      </Empty>
    </>
  )
}
