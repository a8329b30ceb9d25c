import { deviceName } from '../../accounts/sessions/device-name.ts'
import { escapeHtml, narrowPage, type Site } from '../../http/pages/html.ts'
import type { Client } from '../clients/client.ts'
import { hiddenFields, rightsList } from '../consent/consent-page.ts'
import type { PendingDevice } from './device-codes.ts'
import { displayUserCode } from './user-codes.ts'

/** Asks for the code. @param fault why the last one was not accepted */
export function codePage(site: Site, fault?: string): string {
  const message = fault === undefined ? '' : `<p class="message" role="alert">${escapeHtml(fault)}</p>\n`
  return narrowPage(
    site,
    'Sign in a device',
    `${message}<p>Type the code that your device shows.</p>
<form action="${site.basePath}/device" class="choice">
<label>Code <input type="text" name="user_code" required autofocus maxlength="20" placeholder="WDJB-MJHT" autocomplete="off" autocapitalize="characters" spellcheck="false"></label>
<button class="wide primary">Continue</button>
</form>`,
  )
}

export interface DevicePage {
  site: Site
  client: Pick<Client, 'name'>
  device: PendingDevice
  userCode: string
  signedInAs: string
  /** The address of this browser. */
  address: string
  /** Whether the person pressed "Allow" without having compared the code. */
  notCompared?: boolean
}

/**
 * Asks whether a device may sign in. Somebody may have sent the link or the code in order to sign in as the person, so the page
 * says who asks and from where, and the person has to compare the code first (RFC 8628, sections 3.3.1 and 5.4).
 */
export function devicePage(view: DevicePage): string {
  const { site, client, device, userCode, signedInAs, address, notCompared = false } = view
  const name = escapeHtml(client.name)
  const shown = `<code>${displayUserCode(userCode)}</code>`
  const elsewhere = device.address === address ? '' : ', which is not the address of this browser'
  return narrowPage(
    site,
    'Sign in a device?',
    `<p>You are signed in as <strong>${escapeHtml(signedInAs)}</strong>.</p>
<div class="card"><p><strong>${name}</strong> on a device asks to:</p>
${rightsList(device)}
<dl><dt>Code</dt><dd>${shown}</dd>
<dt>Device</dt><dd>${escapeHtml(deviceName(device.user_agent))}</dd>
<dt>Address</dt><dd>${escapeHtml(device.address ?? 'unknown')}${elsewhere}</dd></dl>
</div>
<p class="soft">The device stays signed in after you sign out here. You can end this later in your account.</p>
<p class="message"><strong>Did somebody send you this link or this code?</strong> Then do not allow it: their device would be signed in as you. Nobody who helps you needs it.</p>
<form method="post" action="${site.basePath}/device" class="choice">
${hiddenFields({ user_code: userCode })}
${notCompared ? '<p class="message" role="alert">Compare the code first, and tick the box.</p>' : ''}
<label class="tick"><input type="checkbox" name="compared" value="yes"> <span>I started this myself, and my device shows ${shown}.</span></label>
<button class="wide primary" name="decision" value="allow">Allow</button>
<button class="wide" name="decision" value="deny">Do not allow</button>
</form>`,
  )
}

export function decidedPage(site: Site, allowed: boolean): string {
  return allowed
    ? narrowPage(site, 'Your device is signed in', '<p>Go back to your device. You can close this page.</p>')
    : narrowPage(site, 'Not allowed', '<p>The device is not signed in. You can close this page.</p>')
}
