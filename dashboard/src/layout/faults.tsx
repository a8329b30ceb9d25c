import type { ErrorComponentProps } from '@tanstack/react-router'
import { isProblem } from '../api/client.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Empty, Notice, ProblemNotice } from '../ui/notices.tsx'
import { Page } from '../ui/page.tsx'

/** For an address that names no page, or nothing that exists (any more). */
export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty title="There is nothing at this address" action={<ButtonLink to="/">Go to Home</ButtonLink>}>
        It may have been deleted, or the URL is mistyped.
      </Empty>
    </Page>
  )
}

/** For a page of administrators, opened by somebody else. */
export function NotAllowedPage() {
  return (
    <Page title="Not allowed">
      <Notice tone="warn">
        Your account does not have access to this page. An administrator can change your role.
      </Notice>
      <ButtonLink to="/account">Go to your account</ButtonLink>
    </Page>
  )
}

/** The words of Chromium, Firefox, Safari and Vite for a part of a page that is not there. */
const missingPart =
  /^(?:Failed to fetch|error loading) dynamically imported module|^Importing a module script failed|^Unable to preload CSS/

/** For a page that could not be read. */
export function RouteProblem({ error, reset }: ErrorComponentProps) {
  if (isProblem(error, 404)) return <NotFoundPage />
  if (isProblem(error, 403)) return <NotAllowedPage />
  // The router has loaded the page again once. The import is not tried again: a browser remembers that it failed.
  if (error instanceof Error && missingPart.test(error.message))
    return (
      <Page title="This page could not be loaded">
        <Notice tone="warn">
          Part of the page is missing. The service may have been updated since you opened the dashboard.
        </Notice>
        <Button onClick={() => location.reload()}>Reload</Button>
      </Page>
    )
  return (
    <Page title="This page could not be shown">
      <ProblemNotice error={error} retry={reset} />
    </Page>
  )
}
