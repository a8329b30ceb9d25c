import { hmacOf, type SignSample } from './sample.ts'

/** Dropbox: the type is the first field. https://www.dropbox.com/developers/reference/webhooks */
export const dropbox: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({ [type]: { accounts: [`dbid:${id}`], sample: data } })
  return { body, headers: { 'x-dropbox-signature': hmacOf(secret, body) } }
}
