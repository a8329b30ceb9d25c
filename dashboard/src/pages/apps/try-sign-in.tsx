import { useQuery } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { useState } from 'react'
import type { AppDetail } from '../../api/answers.ts'
import { addressOf } from '../../api/client.ts'
import { Button, CodeBlock, Dialog, DialogActions, Loading, SelectField } from '../../ui/index.ts'
import { buttonLook } from '../../ui/button.tsx'
import { exchangeCommand, newAttempt } from './sign-in-attempt.ts'

/** Starts the app's authorization flow. Without TLS, browsers offer no digest for PKCE. */
export function TrySignIn({ app }: { app: AppDetail }) {
  const [open, setOpen] = useState(false)
  if (app.redirectUris.length === 0 || !isSecureContext) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>Test sign-in</Button>
      {open && <TryDialog app={app} onClose={() => setOpen(false)} />}
    </>
  )
}

function TryDialog({ app, onClose }: { app: AppDetail; onClose: () => void }) {
  const issuer = addressOf('')
  const [redirectUri, setRedirectUri] = useState(app.redirectUris[0]!)
  const { data: attempt } = useQuery({
    queryKey: ['sign-in attempt', app.id, redirectUri],
    queryFn: () => newAttempt(issuer, app, redirectUri),
    gcTime: 0,
    staleTime: Infinity,
    refetchInterval: false,
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Test sign-in to ${app.name}`}
      description="Opens the sign-in in a new tab and redirects you to the app with a code."
    >
      {app.redirectUris.length > 1 && (
        <SelectField
          label="Redirect URI"
          options={app.redirectUris}
          value={redirectUri}
          onChange={({ target }) => setRedirectUri(target.value)}
        />
      )}
      {attempt === undefined ? (
        <Loading />
      ) : (
        <>
          <p className="mb-3 text-soft">
            The app did not start this sign-in, so it may report an invalid state. Its sign-in works if the
            browser arrives at {new URL(redirectUri).host} with a <code>code</code> in the URL. Only the
            verifier below can use the code. It expires after a minute:
          </p>
          <CodeBlock
            label="Request that exchanges the code"
            code={exchangeCommand(issuer, app, redirectUri, attempt.verifier)}
          />
          <DialogActions>
            <Button onClick={onClose}>Close</Button>
            <a
              href={attempt.url}
              target="_blank"
              rel="noopener noreferrer"
              className={`no-underline ${buttonLook('primary', false)}`}
            >
              <ExternalLink size={16} aria-hidden /> Open in a new tab
            </a>
          </DialogActions>
        </>
      )}
    </Dialog>
  )
}
