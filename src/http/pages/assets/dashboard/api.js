// The public API, called like any other client would, with the cookie of the page. Addresses are relative to the page, because the
// service may be below a path.

/** What the paths begin with: the portal has calls of its own, and no sign-in. */
const { api = '' } = document.documentElement.dataset
export const inPortal = api !== ''

async function answer(path, options) {
  const response = await fetch((api + path).slice(1), { headers: { accept: 'application/json' }, ...options })
  if (response.status === 401 && !inPortal) location.assign('login')
  if (!response.ok) {
    const problem = await response.json().catch(() => ({ title: response.statusText }))
    if (problem.code === 'reauthentication-needed')
      location.assign(`login?error=reauthentication-needed&return_to=${location.pathname}`)
    const error = new Error([problem.title, problem.detail, problem.advice].filter(Boolean).join('. '))
    error.status = response.status
    error.code = problem.code
    error.detail = problem.detail
    throw error
  }
  return response.text()
}

/** The answer as it was written: reading it would round great numbers. */
export const readText = (path) => answer(path, {})

export const read = async (path) => JSON.parse(await readText(path))

/** A call that changes something; gives the answer, or undefined when there is none. */
export async function send(method, path, body) {
  const json = body !== undefined && {
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const text = await answer(path, { method, ...json })
  return text === '' ? undefined : JSON.parse(text)
}
