import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from '../layout/theme.ts'
import '../style.css'
import { Calls, callsOf } from '../webhooks/calls.ts'
import { ConfirmProvider } from '../ui/confirm.tsx'
import { Toasts } from '../ui/toast.tsx'
import { api, linkInAddress, takeLink } from './client.ts'
import { tellHeight } from './embedding.ts'
import { loadWords } from './language/load.ts'
import { Portal } from './portal.tsx'
import { queries } from './queries.ts'

// Another link for this page changes the fragment only, which loads nothing by itself.
addEventListener('hashchange', () => linkInAddress() !== undefined && location.reload())
applyTheme()
// Not a top-level await, for which the build would split the entry.
void loadWords().then(() => {
  const link = takeLink()
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <ConfirmProvider>
          <Calls value={callsOf(api, '/portal')}>
            <Portal link={link} />
          </Calls>
        </ConfirmProvider>
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  )
  tellHeight()
})
