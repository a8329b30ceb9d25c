import { describeDevice } from '../../accounts/sessions/device-name.ts'
import { code, escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import type { Words } from '../../http/pages/language/en.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import type { PageView } from '../../http/pages/page-view.ts'
import type { Client } from '../clients/client.ts'
import { hiddenFields, rightsList } from '../consent/consent-page.ts'
import type { PendingDevice } from './device-codes.ts'
import { displayUserCode } from './user-codes.ts'

/** Asks for the code. @param isUnknown whether the last one was not accepted */
export function codePage(view: PageView, isUnknown = false): string {
  const { device, common } = view.words
  const message = isUnknown ? `<p class="message" role="alert">${device.unknownCode}</p>\n` : ''
  return narrowPage(
    view,
    device.title,
    `${message}<p>${device.enterCode}</p>
<form action="${view.site.basePath}/device" class="choice">
<label>${device.code} <input type="text" name="user_code" required autofocus maxlength="20" placeholder="WDJB-MJHT" autocomplete="off" autocapitalize="characters" spellcheck="false"></label>
<button class="wide primary">${common.continue}</button>
</form>`,
  )
}

export interface DevicePage {
  view: PageView
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
export function devicePage(page: DevicePage): string {
  const { view, client, device, userCode, signedInAs, address, notCompared = false } = page
  const { words, site } = view
  const { common } = words
  const texts = words.device
  const shown = code(displayUserCode(userCode))
  const from = escapeHtml(device.address ?? texts.unknownAddress)
  return narrowPage(
    view,
    texts.confirmTitle,
    `<p>${fill(common.signedInAs, { name: strong(signedInAs) })}</p>
<div class="card"><p>${fill(texts.wants, { app: strong(client.name) })}</p>
${rightsList(words, device)}
<dl><dt>${texts.code}</dt><dd>${shown}</dd>
<dt>${texts.device}</dt><dd>${escapeHtml(deviceText(texts, device.user_agent))}</dd>
<dt>${texts.address}</dt><dd>${device.address === address ? from : fill(texts.otherAddress, { address: from })}</dd></dl>
</div>
<p class="soft">${texts.stays}</p>
<p class="message">${sentences(view.language, `<strong>${texts.cautionTitle}</strong>`, texts.caution)}</p>
<form method="post" action="${site.basePath}/device" class="choice">
${hiddenFields({ user_code: userCode })}
${notCompared ? `<p class="message" role="alert">${texts.notCompared}</p>` : ''}
<label class="tick"><input type="checkbox" name="compared" value="yes"> <span>${fill(texts.started, { code: shown })}</span></label>
<button class="wide primary" name="decision" value="allow">${common.allow}</button>
<button class="wide" name="decision" value="deny">${common.deny}</button>
</form>`,
  )
}

function deviceText(texts: Words['device'], userAgent: string | null): string {
  const { browser, system } = describeDevice(userAgent)
  if (browser !== undefined && system !== undefined) return fill(texts.browserOn, { browser, system })
  return browser ?? (system === undefined ? texts.unknownDevice : fill(texts.someBrowserOn, { system }))
}

export function decidedPage(view: PageView, allowed: boolean): string {
  const { doneTitle, done, deniedTitle, denied } = view.words.device
  return allowed
    ? narrowPage(view, doneTitle, `<p>${done}</p>`)
    : narrowPage(view, deniedTitle, `<p>${denied}</p>`)
}
