import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import { engines, started, startedService } from '../harness/index.ts'
import { insertProducts, product } from '../listing/seed.ts'
import { assertAccessible } from './accessibility.ts'
import { answerDialog, collectErrors, launchBrowser, signIn } from './browser.ts'

const fields = {
  id: { type: 'text' },
  category: { type: 'text' },
  price: { type: 'number' },
  stock: { type: 'number' },
  name: { type: 'text' },
} as const
const shelf = list({
  path: '/shelf',
  table: 'products',
  summary: 'What is on the shelf',
  fields,
  key: 'id',
  filters: { category: 'in', minPrice: { kind: 'atLeast', field: 'price' } },
  sort: ['price', 'name'],
  limit: { max: 1000 },
  exports: true,
  expand: { same: { table: 'products', from: 'id', fields: { name: { type: 'text' } } } },
})
const numbered = list({
  path: '/numbered',
  table: 'products',
  fields: { ...fields, category: { type: 'enum', values: ['tools', 'toys', 'books'] } },
  key: 'id',
  filters: { category: 'equals', kinds: { kind: 'in', field: 'category' } },
  pages: ['offset'],
  summaries: { by: ['category', 'name'], sum: ['price'], avg: ['price'] },
})

const rows = Array.from({ length: 10_000 }, (_, index) =>
  product(`p${String(index).padStart(5, '0')}`, {
    category: index % 2 === 0 ? 'tools' : 'toys',
    price: (index * 7_919) % 10_007,
    name: `Thing ${index}`,
  }),
)

/** What an administrator does with the lists. */
describe('data in a browser', () => {
  const complaints: string[] = []

  const service = startedService(engines[0]!, () => ({ config: { listing: { lists: [shelf, numbered] } } }))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(async () => {
    for (let at = 0; at < rows.length; at += 500)
      await insertProducts(service.database, rows.slice(at, at + 500))
    collectErrors(page, complaints)
    await signIn(page, service, 'Ada Lovelace')
  })

  const table = (path: string) => page.getByRole('table', { name: `Rows of ${path}` })
  const firstRow = async (path: string): Promise<string> =>
    (await table(path).locator('tbody tr[data-index="0"]').innerText()).replaceAll(/\s+/g, ' ')

  test('all lists are shown, and lead to their rows', async () => {
    await page.goto(`${service.baseUrl}/dashboard/data`)
    await page.getByRole('link', { name: '/shelf' }).waitFor()
    for (const name of ['/users', '/products', '/api/posts', '/numbered'])
      await page.getByRole('link', { name, exact: true }).waitFor()
    await assertAccessible(page)
    await page.getByRole('link', { name: '/shelf' }).click()
    await page.getByRole('heading', { level: 1, name: '/shelf' }).waitFor()
    await table('/shelf').getByText('p00000').waitFor()
  })

  test('a value that the filter cannot read is told at its field, also of an address', async () => {
    const field = page.getByLabel('price at least')
    const isTold = async (): Promise<void> => {
      await page.getByRole('alert').filter({ hasText: 'Enter a number.' }).waitFor()
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
    }
    await field.fill('abc')
    await isTold()
    assert.ok(!page.url().includes('minPrice'))
    await assertAccessible(page)
    await page.goto(`${service.baseUrl}/dashboard/data/shelf?f.minPrice=abc`)
    await isTold()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Enter a number.').waitFor({ state: 'detached' })
  })

  test('a list of 10,000 rows is filtered and sorted, and the address keeps both', async () => {
    const prices = rows
      .filter(({ category, price }) => category === 'toys' && price >= 5_000)
      .map(({ price }) => price)
    const [least, most] = [Math.min(...prices), Math.max(...prices)]
    const first = table('/shelf').locator('tbody tr[data-index="0"]')
    await page.getByLabel('category is one of').fill('toys')
    await page.getByLabel('price at least').fill('5000')
    await page.waitForURL(/f\.category=toys/)
    await page.getByRole('button', { name: /^price/ }).click()
    await page.waitForURL(/sort=price/)
    await first.getByText(String(least), { exact: true }).waitFor()
    await page.getByRole('button', { name: /^price/ }).click()
    await page.waitForURL(/sort=-price/)
    await first.getByText(String(most), { exact: true }).waitFor()
    const before = await firstRow('/shelf')
    assert.match(before, /toys/)
    await page.reload()
    await table('/shelf').locator('tbody tr').first().waitFor()
    assert.equal(await firstRow('/shelf'), before)
    assert.equal(await page.getByLabel('category is one of').inputValue(), 'toys')
    await assertAccessible(page)
    await page.goBack()
    await page.waitForURL(/sort=price/)
  })

  test('the export has the rows that the filters leave', async () => {
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export CSV' }).click()
    const file = await (await download).path()
    const lines = (await readFile(file, 'utf8')).trim().split('\r\n')
    assert.match(lines[0]!, /id.*category/)
    assert.ok(lines.length > 1_000 && lines.length < 5_000, `${lines.length} lines`)
    assert.ok(lines.slice(1).every((line) => line.includes('toys')))
  })

  test('expansions are shown within the rows', async () => {
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('with same').click()
    await page.waitForURL(/expand=same/)
    await table('/shelf').getByRole('columnheader', { name: 'same' }).waitFor()
    await table('/shelf').getByText('{"name":"Thing').first().waitFor()
  })

  test('all 10,000 rows are reached by scrolling, and only those in view are in the page', async () => {
    await page.goto(`${service.baseUrl}/dashboard/data/shelf`)
    const status = page.getByText(/ rows/)
    await status.waitFor()
    for (let turn = 0; turn < 200 && /more/.test(await status.innerText()); turn += 1) {
      const shown = await status.innerText()
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await page.waitForFunction(
        (before) =>
          ![
            ...(
              globalThis as unknown as { document: { querySelectorAll(s: string): { innerText: string }[] } }
            ).document.querySelectorAll('p[role=status]'),
          ].some(({ innerText }) => innerText === before),
        shown,
      )
    }
    assert.match(await status.innerText(), /^10,000 rows$/)
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await table('/shelf').getByText('p09999').waitFor()
    assert.ok((await table('/shelf').locator('tbody tr[data-index]').count()) < 100)
  })

  test('numbered pages go forth and back', async () => {
    await page.goto(`${service.baseUrl}/dashboard/data/numbered`)
    await page.getByText(/10,000 rows · page 1 of 100/).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText(/page 2 of 100/).waitFor()
    await table('/numbered').getByText('p00100').waitFor()
    assert.match(page.url(), /page=2/)
    await page.goBack()
    await page.getByText(/page 1 of 100/).waitFor()
  })

  test('a filter of a field with known values is a choice', async () => {
    await page.getByLabel('category is', { exact: true }).selectOption('toys')
    await page.getByText(/5,000 rows · page 1 of 50/).waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    // Several values, with the keyboard alone.
    const several = page.getByRole('button', { name: 'category is one of: any' })
    await several.focus()
    await page.keyboard.press('Enter')
    const choice = (name: string) => page.getByRole('menuitemcheckbox', { name })
    await choice('tools').waitFor()
    await assertAccessible(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'category is one of: toys, books' }).waitFor()
    await page.waitForURL(/f\.kinds=toys(?:,|%2C)books/)
    await page.getByText(/5,000 rows · page 1 of 50/).waitFor()
    await page.goto(`${service.baseUrl}/dashboard/data/users`)
    await page.getByLabel('role is').selectOption('user')
    await page.getByText('No row matches these filters').waitFor()
    await page.getByLabel('role is').selectOption('admin')
    await table('/users').getByText('Ada Lovelace').first().waitFor()
  })

  test('a summary shows groups as bars, of the rows that the filters leave', async () => {
    await page.goto(`${service.baseUrl}/dashboard/data/numbered`)
    const summary = page.getByRole('table', { name: 'Summary of /numbered' })
    await summary.getByText('5000').first().waitFor()
    await page.getByLabel('Value').selectOption('sum price')
    const total = rows.reduce((sum, { category, price }) => (category === 'toys' ? sum + price : sum), 0)
    await summary.getByText(String(total)).waitFor()
    await assertAccessible(page)
    await page.getByLabel('Group by').selectOption('name')
    await page.getByText('50 of the first 1,000 groups; there are more').waitFor()
    await page.goto(`${service.baseUrl}/dashboard/data/numbered?f.category=tools`)
    await summary.getByText('tools').waitFor()
    assert.equal(await summary.getByText('toys').count(), 0)
  })

  test('a row is created, with problems at their fields; changed; and deleted after a question', async () => {
    await page.goto(`${service.baseUrl}/dashboard/data/products?f.category=spades`)
    await page.getByText('No row matches these filters').waitFor()
    await page.getByRole('button', { name: 'Add row' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'id (optional)' }).fill('spade-1')
    await dialog.getByRole('textbox', { name: 'category' }).fill('spades')
    await dialog.getByRole('textbox', { name: 'price' }).fill('much')
    await dialog.getByRole('textbox', { name: 'stock' }).fill('3')
    await dialog.getByRole('textbox', { name: 'name' }).fill('Spa\0de')
    await dialog.getByLabel('createdAt (optional)').fill('2026-01-31T08:30')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.getByText('Enter a number.').waitFor()
    await assertAccessible(page)
    await dialog.getByRole('textbox', { name: 'price' }).fill('12.5')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    // Only the service knows which texts can be stored.
    const name = dialog.getByRole('textbox', { name: 'name' })
    await name.and(page.locator('[aria-invalid=true]')).waitFor()
    await dialog.locator('[role=alert]').waitFor()
    await name.fill('Spade')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'spade-1' }).click()
    await dialog.getByRole('button', { name: 'Change' }).click()
    assert.match(await dialog.getByLabel('createdAt').inputValue(), /^2026-01-31T08:30/)
    await dialog.getByRole('textbox', { name: 'price' }).fill('13')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('13', { exact: true }).waitFor()
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await answerDialog(page, 'Delete')
    await page.getByText('No row matches these filters').waitFor()
    const response = await service.admin('/audit?limit=5')
    assert.match(await response.text(), /item\.deleted/)
  })

  test('without a complaint of the browser but for refused calls', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
    )
  })
})
