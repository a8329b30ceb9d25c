import { Page } from '../ui/page.tsx'

/** Until the pages of an area are there. */
export const Placeholder = () => (
  <Page title="Not built yet">
    <p>This page is being built.</p>
  </Page>
)
